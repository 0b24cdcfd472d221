// A real OpenID Connect provider for tests: node provider.mjs MODULES_FOLDER SECRET. It prints its address.
import http from "node:http";
import { pathToFileURL } from "node:url";

const [modules, secret] = process.argv.slice(2);
const { Provider } = await import(pathToFileURL(`${modules}/oidc-provider/lib/index.js`));
const people = new Map();
let provider;
const server = http.createServer((request, response) => handle(request, response));
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const issuer = `http://127.0.0.1:${server.address().port}`;

provider = new Provider(issuer, {
  clients: [{ client_id: "console", client_secret: secret, redirect_uris: ["https://replaced.example/"], grant_types: ["authorization_code"] }],
  claims: { openid: ["sub"], profile: ["name", "groups", "tenant"] },
  conformIdTokenClaims: false,
  acrValues: ["urn:example:mfa", "urn:example:password"],
  cookies: { keys: [secret] },
  features: { devInteractions: { enabled: false } },
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...people.get(id) }) }),
  loadExistingGrant: async (ctx) => {
    const grant = new ctx.oidc.provider.Grant({ clientId: ctx.oidc.client.clientId, accountId: ctx.oidc.session.accountId });
    grant.addOIDCScope("openid profile email");
    await grant.save();
    return grant;
  },
  ttl: { AccessToken: 600, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 3600 },
});
provider.Client.prototype.redirectUriAllowed = (uri) => /^http:\/\/(127\.0\.0\.1|localhost):/.test(uri);
const callback = provider.callback();

async function handle(request, response) {
  if (!request.url.startsWith("/interaction/")) return callback(request, response);
  if (request.method === "GET") {
    const { params } = await provider.interactionDetails(request, response);
    response.setHeader("content-type", "text/html");
    return response.end(`<title>Provider</title><form method="post"><p>acr_values=${params.acr_values ?? ""} max_age=${params.max_age ?? ""}</p>
      <input name="login"><input name="groups"><input name="tenant"><input name="acr"><button>Log in</button></form>`);
  }
  let body = "";
  for await (const chunk of request) body += chunk;
  const form = new URLSearchParams(body);
  const login = form.get("login");
  people.set(login, { name: login, groups: form.get("groups")?.split(",") ?? [], tenant: form.get("tenant") || undefined });
  const result = { login: { accountId: login, acr: form.get("acr") || "urn:example:password" } };
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
}
process.stdout.write(`${issuer}\n`);
