# The gateway in a container: docker build -t assent . && docker run -p 8420:8420 -v ./assent.yaml:/etc/assent/assent.yaml:ro assent
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src src
RUN python -m venv /opt/assent && /opt/assent/bin/pip install --no-cache-dir -c constraints.txt ".[standard,postgres,telemetry]"

FROM python:3.12-slim
# For `sandbox:`; the container must allow user namespaces (docs/sandbox.md).
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap libseccomp2 && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/assent /opt/assent
RUN useradd --system --create-home --home-dir /var/lib/assent --uid 10001 assent
USER 10001
WORKDIR /var/lib/assent
ENV PATH=/opt/assent/bin:$PATH PYTHONUNBUFFERED=1
VOLUME /var/lib/assent
EXPOSE 8420
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8420/healthz', timeout=2)"]
ENTRYPOINT ["assent"]
CMD ["serve", "-c", "/etc/assent/assent.yaml", "--host", "0.0.0.0", "--log-format", "json"]
