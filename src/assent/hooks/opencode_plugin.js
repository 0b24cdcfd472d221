// Assent for opencode: every tool call is judged before it runs. Written by `assent init --client opencode --hooks`.
import { spawn } from "node:child_process"

const COMMAND = __COMMAND__
const WITHIN = 30_000
const roots = new Map()

function knock(event, cwd) {
  return new Promise((resolve, reject) => {
    const child = spawn(COMMAND[0], COMMAND.slice(1), { cwd, stdio: ["pipe", "pipe", "ignore"] })
    const timer = setTimeout(() => child.kill("SIGKILL"), WITHIN)
    let out = ""
    child.on("error", reject)
    child.stdin.on("error", () => {})
    child.stdout.on("data", (part) => (out += part))
    child.on("close", (code) => {
      clearTimeout(timer)
      try {
        if (code !== 0) throw new Error(`exit code ${code}`)
        resolve(JSON.parse(out))
      } catch (error) {
        reject(error)
      }
    })
    child.stdin.end(JSON.stringify({ version: 1, ...event, cwd }))
  })
}

// A sub-agent has a session of its own; it belongs to the conversation of its parent.
const root = (session) => {
  let found = session
  for (let depth = 0; roots.has(found) && depth < 20; depth++) found = roots.get(found)
  return found
}

export const Assent = async ({ directory }) => {
  const quietly = (event) => knock(event, directory).catch(() => {})
  return {
    "tool.execute.before": async (input, output) => {
      const event = { event: "before", session: root(input.sessionID), tool: input.tool, call: input.callID, input: output.args ?? {} }
      let answer
      try {
        answer = await knock(event, directory)
      } catch (error) {
        throw new Error(`Assent's hook failed: ${error.message}. The call was not judged, so it is denied. Tell the user to run \`assent doctor\`.`)
      }
      if (answer.decision === "deny") throw new Error(answer.reason)
    },
    "tool.execute.after": async (input, output) => {
      const result = output?.content ?? output?.output ?? output
      const event = { event: "after", session: root(input.sessionID), tool: input.tool, call: input.callID, input: input.args ?? {}, result }
      const answer = await quietly(event)
      if (answer?.decision === "deny" && typeof output?.output === "string") output.output = answer.reason
    },
    "chat.message": async (input, output) => {
      if (roots.has(input.sessionID)) return // The words of a parent agent are not the user's.
      const prompt = (output.parts ?? []).filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text).join("\n")
      if (prompt) await quietly({ event: "prompt", session: input.sessionID, prompt })
    },
    event: async ({ event }) => {
      const info = event.properties?.info
      if (event.type === "session.created" && info?.parentID) roots.set(info.id, info.parentID)
      else if (event.type === "session.created") await quietly({ event: "start", session: info.id })
      else if (event.type === "session.deleted") await quietly({ event: "end", session: root(info.id) })
    },
  }
}
