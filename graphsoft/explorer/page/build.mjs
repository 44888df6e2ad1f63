// Builds the page's code into ../built/, or with --tests its unit tests into build/tests/.
// With --check it only tells whether built/ is what the sources give.
import { build } from "esbuild";
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const built = join(here, "..", "built");

async function buildTests() {
  const tests = (await readdir(join(here, "tests"))).filter((name) => name.endsWith(".test.ts"));
  await build({
    absWorkingDir: here,
    entryPoints: tests.map((name) => join("tests", name)),
    outdir: "build/tests",
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
  });
}

async function buildPage() {
  const options = {
    absWorkingDir: here,
    bundle: true,
    write: false,
    minify: true,
    charset: "ascii",
    legalComments: "none",
    target: ["es2022", "chrome109", "firefox115", "safari16.4"],
  };
  const script = await build({ ...options, entryPoints: ["src/main.ts"], format: "iife", metafile: true });
  const style = await build({ ...options, entryPoints: ["src/style.css"] });
  const code = script.outputFiles[0].text;
  // the code stands in a script element of the page, where these would end or hide it
  if (/<\/script|<!--/i.test(code)) throw new Error("the built code holds </script or <!--");
  return {
    "explorer.js": code,
    "explorer.css": style.outputFiles[0].text,
    "licenses.txt": await licenses(Object.keys(script.metafile.inputs)),
  };
}

/** The license of every package that is in the built code. */
async function licenses(inputs) {
  const pattern = /node_modules\/((?:@[^/]+\/)?[^/]+)\//;
  const packages = new Set(inputs.map((path) => pattern.exec(path)?.[1]).filter(Boolean));
  const parts = [];
  for (const name of [...packages].sort()) {
    const folder = join(here, "node_modules", name);
    const { version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const file = (await readdir(folder)).find((each) => /^licen[cs]e/i.test(each));
    const text = (await readFile(join(folder, file), "utf8")).trim();
    parts.push(`${name} ${version} (${license})\n\n${text}\n`);
  }
  return parts.join(`\n${"-".repeat(80)}\n\n`);
}

if (process.argv.includes("--tests")) {
  await buildTests();
} else {
  const files = await buildPage();
  const stale = [];
  await mkdir(built, { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    const path = join(built, name);
    if (process.argv.includes("--check")) {
      const there = await readFile(path, "utf8").catch(() => null);
      if (there !== text) stale.push(basename(path));
    } else {
      await writeFile(path, text);
      console.log(`${name}: ${text.length} bytes`);
    }
  }
  if (stale.length) {
    console.error(`built/ is not what the sources give: ${stale.join(", ")}. Run npm run build.`);
    process.exit(1);
  }
}
