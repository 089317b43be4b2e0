// A hook that denies shell commands which destroy more than anyone asks for.
//
// It reads the command's text and so stops accidents, not an attacker; the sandbox is what confines. GUARD_PATTERNS,
// one regular expression a line, replaces its list.

import { Plugin } from "./hookgate_plugin.mts";

const PATTERNS = String.raw`
\brm\b(?=[^;&|\n]*\s(?:-\w*[rR]|--recursive))(?=[^;&|\n]*\s(?:-\w*f|--force))[^;&|\n]*
\bmkfs\b
\bdd\b[^;&|\n]*\bof=["']?/dev/
>\s*["']?/dev/(?:sd|hd|vd|nvme|mmcblk)
\bchmod\s+-\w*R\w*\s+0?777\b
:\s*\(\s*\)\s*\{\s*:\s*\|\s*:\s*&\s*\}
\b(?:curl|wget)\b[^;&\n]*\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b
`;

const plugin = new Plugin("guard");
const lines = (process.env.GUARD_PATTERNS ?? PATTERNS).split("\n");
const patterns = lines.filter((line) => line.trim()).map((line) => new RegExp(line));

plugin.beforeTool("bash", (call) => {
  const danger = firstDanger(String(call.arguments.command ?? ""));
  return danger ? plugin.deny(`'${danger}' is not allowed here`) : undefined;
});

function firstDanger(command: string): string {
  const found = patterns.map((pattern) => pattern.exec(command)).find((match) => match);
  return found?.[0] ?? "";
}

await plugin.run();
