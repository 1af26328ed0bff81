"""The extension against Pi's own types, and against what Python says."""

import json
import re
import subprocess
from pathlib import Path

from minutebook.pipeline.recalltext import DESCRIPTION
from tests.real.programs import ROOT, node, pi_modules, tsc

EXTENSION = ROOT / "minutebook" / "hosts" / "pi" / "extension"
STRICT = {
    "target": "ES2023",
    "module": "ESNext",
    "moduleResolution": "bundler",
    "strict": True,
    "noEmit": True,
    "skipLibCheck": True,
    "noUnusedLocals": True,
    "noUnusedParameters": True,
    "noImplicitReturns": True,
    "erasableSyntaxOnly": True,
    "allowImportingTsExtensions": True,
    "types": ["node"],
}


def test_the_extension_is_type_checked(tmp_path: Path) -> None:
    """And so is what drives Pi in these tests. One wrong line in a copy is found: the check can fail."""
    modules, compiler = pi_modules(), Path(tsc()).resolve()
    kept = next(parent for parent in compiler.parents if parent.name == "node_modules")
    paths = {
        "@earendil-works/*": [f"{modules}/@earendil-works/*/dist/index.d.ts"],
        "typebox": [f"{modules}/typebox/build/index.d.mts"],
    }
    options = {**STRICT, "typeRoots": [f"{kept}/@types"], "paths": paths}
    (tmp_path / "wrong.ts").write_text(
        'import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";\n'
        'export default (pi: ExtensionAPI) => pi.on("no_such_event", () => {});\n'
    )
    files = [str(EXTENSION / "index.ts"), str(Path(__file__).with_name("pi_driver.ts")), str(tmp_path / "wrong.ts")]
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "files": files}))
    done = subprocess.run([node(), str(compiler), "-p", str(tmp_path)], capture_output=True, text=True, timeout=120)
    assert re.findall(r"^(\S*?)\((\d+),", done.stdout, re.MULTILINE) == [(f"{tmp_path.name}/wrong.ts", "2")] or (
        re.findall(r"(\w+\.ts)\(\d+,\d+\): error", done.stdout) == ["wrong.ts"]
    ), done.stdout


def test_the_recall_tool_says_the_same_as_everywhere_003_094() -> None:
    text = (EXTENSION / "recalling.ts").read_text()
    said = re.search(r"export const DESCRIPTION =\n(.*?);\n", text, re.DOTALL)
    assert said is not None
    assert "".join(json.loads(part) for part in re.findall(r'"(?:[^"\\]|\\.)*"', said[1])) == DESCRIPTION
