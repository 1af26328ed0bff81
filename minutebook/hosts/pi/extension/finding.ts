// Where om-hook is: as the installer wrote it beside this file, on PATH, or where pip and pipx put programs.
import { accessSync, constants, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";

const NAME = "om-hook";
const HERE = dirname(fileURLToPath(import.meta.url));

export function findHook(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const onPath = (env.PATH ?? "").split(delimiter).filter(isAbsolute);
  const folders = [...onPath, join(homedir(), ".local", "bin")];
  return [env.OM_HOOK, installed(), ...folders.map((folder) => join(folder, NAME))].find(isProgram);
}

function installed(): string | undefined {
  try {
    const found: unknown = JSON.parse(readFileSync(join(HERE, "installed.json"), "utf8"));
    return (found as { om_hook?: string }).om_hook;
  } catch {
    return undefined;
  }
}

function isProgram(path: string | undefined): path is string {
  if (!path || !isAbsolute(path)) return false;
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
