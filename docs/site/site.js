// The copy button of a block with prompts copies the commands alone, without prompts and output.
document.addEventListener("click", (event) => {
  const button = event.target.closest(".md-code__button")
  const code = button?.closest(".highlight")?.querySelector("code")
  if (!code?.querySelector(".gp")) return
  const commands = code.innerText.split("\n").filter((line) => line.startsWith("$ "))
  event.stopImmediatePropagation()
  navigator.clipboard.writeText(commands.map((line) => line.slice(2)).join("\n"))
}, true)
