// Two real authorization servers for tests: node exchange_providers.mjs MODULES_FOLDER GATEWAY_AUDIENCE SECRET.
// The first is the identity provider: people log in there, and it exchanges their tokens (RFC 8693) for tokens or for
// identity assertions (ID-JAG). The second accepts such assertions (RFC 7523). It prints both addresses.
import http from "node:http";
import { pathToFileURL } from "node:url";

const [modules, gatewayAudience, secret] = process.argv.slice(2);
const { Provider, errors } = await import(pathToFileURL(`${modules}/oidc-provider/lib/index.js`));
const jose = await import(pathToFileURL(`${modules}/jose/dist/webapi/index.js`));
const EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const ASSERTION = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ID_JAG = "urn:ietf:params:oauth:token-type:id-jag";
const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";
const LASTS = 600;
const SCOPES = "notes notes:all orders:read orders:write";

async function listen() {
  const server = http.createServer();
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  return [server, `http://127.0.0.1:${server.address().port}`];
}

async function newKey() {
  const { privateKey } = await jose.generateKeyPair("ES256", { extractable: true });
  return { ...(await jose.exportJWK(privateKey)), kid: "k1", alg: "ES256", use: "sig" };
}

async function make(server, issuer, clients) {
  const key = await newKey();
  const resource = (name) => ({ scope: SCOPES, audience: name, accessTokenTTL: LASTS, accessTokenFormat: "jwt", jwt: { sign: { alg: "ES256" } } });
  const provider = new Provider(issuer, {
    jwks: { keys: [key] },
    clients,
    clientDefaults: { id_token_signed_response_alg: "ES256" },
    scopes: ["openid", "offline_access", ...SCOPES.split(" ")],
    extraTokenClaims: (ctx) => ({ auth_time: ctx.oidc.entities.AuthorizationCode?.authTime }),
    cookies: { keys: [secret] },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      resourceIndicators: { enabled: true, getResourceServerInfo: (_, name) => resource(name), useGrantedResource: () => true },
    },
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    loadExistingGrant: async (ctx) => {
      const grant = new ctx.oidc.provider.Grant({ clientId: ctx.oidc.client.clientId, accountId: ctx.oidc.session.accountId });
      grant.addOIDCScope(`openid offline_access ${SCOPES}`);
      for (const name of [].concat(ctx.oidc.params.resource ?? [])) grant.addResourceScope(name, SCOPES);
      await grant.save();
      return grant;
    },
    ttl: { AccessToken: LASTS, AuthorizationCode: 60, Grant: LASTS, IdToken: LASTS, Interaction: LASTS, Session: LASTS, RefreshToken: LASTS },
  });
  provider.Client.prototype.redirectUriAllowed = (uri) => /^http:\/\/(127\.0\.0\.1|localhost):/.test(uri);
  const callback = provider.callback();
  server.on("request", async (request, response) => {
    if (!request.url.startsWith("/interaction/")) return callback(request, response);
    if (request.method === "GET") return response.end("<form method=post><input name=login></form>");
    let body = "";
    for await (const chunk of request) body += chunk;
    const { prompt } = await provider.interactionDetails(request, response);
    const form = new URLSearchParams(body);
    const login = { accountId: form.get("login"), ...(form.has("ts") && { ts: Number(form.get("ts")) }) };
    const result = prompt.name === "consent" ? { consent: {} } : { login };
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
  });
  const issue = async (ctx, subject, name, scope) => {
    const wanted = (scope || "notes").split(" ").filter((word) => ["notes", "notes:all"].includes(word)).join(" ");
    const token = new provider.AccessToken({ accountId: subject, client: ctx.oidc.client, scope: wanted, gty: "exchange" });
    token.resourceServer = new provider.ResourceServer(name, resource(name));
    const value = await token.save();
    return { access_token: value, token_type: "Bearer", expires_in: LASTS, scope: wanted };
  };
  return { provider, key, issue };
}

const said = (line) => process.stdout.write(`${line}\n`);
const [oneServer, idp] = await listen();
const [otherServer, as] = await listen();
const clients = [
  { client_id: "clerk", token_endpoint_auth_method: "none", redirect_uris: ["https://replaced.example/"], grant_types: ["authorization_code", "refresh_token"] },
  { client_id: "assent", client_secret: secret, redirect_uris: [], response_types: [], grant_types: [EXCHANGE] },
];
const one = await make(oneServer, idp, clients);
const other = await make(otherServer, as, [
  { client_id: "assent-there", client_secret: secret, redirect_uris: [], response_types: [], grant_types: [ASSERTION] },
]);
const refuse = (why) => { throw new errors.InvalidGrant(why); };

const parameters = ["subject_token", "subject_token_type", "requested_token_type", "audience", "resource", "scope"];
one.provider.registerGrantType(EXCHANGE, async (ctx) => {
  const { subject_token: subject, requested_token_type: wanted, audience, resource, scope } = ctx.oidc.params;
  if (ctx.oidc.params.subject_token_type !== ACCESS_TOKEN) refuse("unknown subject token type");
  const { payload } = await jose.jwtVerify(subject, await jose.importJWK({ ...one.key, d: undefined }), { issuer: idp, audience: gatewayAudience }).catch(() => refuse("bad subject token"));
  if (payload.sub === "banned") refuse("not for this person");
  said(`exchange ${wanted.split(":").at(-1)} ${payload.sub}`);
  if (wanted !== ID_JAG) {
    ctx.body = { ...(await one.issue(ctx, payload.sub, resource, scope)), issued_token_type: ACCESS_TOKEN };
    return;
  }
  const claims = { resource, scope, client_id: "assent-there", jti: crypto.randomUUID() };
  const assertion = await new jose.SignJWT(claims).setProtectedHeader({ alg: "ES256", kid: "k1", typ: "oauth-id-jag+jwt" })
    .setIssuer(idp).setSubject(payload.sub).setAudience(audience).setIssuedAt().setExpirationTime("60s").sign(await jose.importJWK(one.key));
  ctx.body = { issued_token_type: ID_JAG, access_token: assertion, token_type: "N_A", expires_in: 60, scope };
}, parameters);

const keysOfIdp = jose.createRemoteJWKSet(new URL(`${idp}/jwks`));
const used = new Set();
other.provider.registerGrantType(ASSERTION, async (ctx) => {
  const { assertion, scope } = ctx.oidc.params;
  const rules = { issuer: idp, audience: as, typ: "oauth-id-jag+jwt" };
  const { payload } = await jose.jwtVerify(assertion, keysOfIdp, rules).catch(() => refuse("bad assertion"));
  if (payload.client_id !== ctx.oidc.client.clientId || used.has(payload.jti)) refuse("an assertion for somebody else, or used");
  used.add(payload.jti);
  said(`redeem ${payload.sub}`);
  ctx.body = await other.issue(ctx, payload.sub, payload.resource, scope);
}, ["assertion", "scope", "resource"]);
for (const { provider } of [one, other]) provider.on("server_error", (_, error) => said(`error ${error.stack}`));
said(`${idp} ${as}`);
