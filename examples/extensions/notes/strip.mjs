// Writes index.mjs: index.mts without its types. Needs a Node that can strip them (22.13 and later).
import { readFile, writeFile } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";

// A stripped type leaves blanks. No string of index.mts holds two in a row.
const tidied = (text) =>
  text
    .replace(/(?<=\S)[ \t]+$/gm, "")
    .replace(/(?<=\S) {2,}/g, " ")
    .replace(/ +([,);])/g, "$1")
    .replace(/^[ \t]+$/gm, "")
    .replace(/\n{3,}/g, "\n\n");

const source = await readFile(new URL("index.mts", import.meta.url), "utf8");
const target = process.argv[2] ?? new URL("index.mjs", import.meta.url);
await writeFile(target, tidied(stripTypeScriptTypes(source)));
