// Passkeys: a form with data-passkey asks the browser for one, puts the answer into its field, and is sent.
"use strict";
(() => {
  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (char) => char.charCodeAt(0));
  const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  const named = (list) => (list || []).map((one) => ({ ...one, id: bytes(one.id) }));

  async function answer(kind, options) {
    const publicKey = { ...options, challenge: bytes(options.challenge) };
    if (kind === "create") {
      publicKey.user = { ...options.user, id: bytes(options.user.id) };
      publicKey.excludeCredentials = named(options.excludeCredentials);
      return navigator.credentials.create({ publicKey });
    }
    publicKey.allowCredentials = named(options.allowCredentials);
    return navigator.credentials.get({ publicKey });
  }

  function written(credential) {
    const response = { clientDataJSON: text(credential.response.clientDataJSON) };
    for (const name of ["attestationObject", "authenticatorData", "signature", "userHandle"]) {
      if (credential.response[name]) response[name] = text(credential.response[name]);
    }
    return JSON.stringify({ id: credential.id, rawId: text(credential.rawId), type: credential.type, response });
  }

  for (const form of document.querySelectorAll("form[data-passkey]")) {
    if (!window.PublicKeyCredential) continue;
    form.hidden = false;
    form.addEventListener("submit", async (event) => {
      if (form.elements.credential.value) return;
      event.preventDefault();
      const problem = form.querySelector("[role=alert]");
      try {
        const credential = await answer(form.dataset.passkey, JSON.parse(form.dataset.options));
        form.elements.credential.value = written(credential);
        form.submit();
      } catch (error) {
        problem.textContent = "The browser did not use a passkey (" + error.name + "). Try again.";
        problem.hidden = false;
      }
    });
  }
})();
