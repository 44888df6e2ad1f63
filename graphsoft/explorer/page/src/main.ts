/** Opens the data of the page, and shows them. */
import { Data } from "./data.ts";
import { element } from "./dom.ts";
import { showPage } from "./shell.ts";

/** Members stand in script elements that are no scripts, so that the browser keeps them as texts. */
function member(name: string): string | null {
  const holder = document.getElementById(name === "head" ? "head" : `member:${name}`);
  return holder?.textContent ?? null;
}

async function start(): Promise<void> {
  try {
    const data = await Data.open(member);
    showPage(document.body, data);
    performance.mark("explorer-shown");
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    document.body.append(element("p", { role: "alert" }, `This page cannot be shown: ${text}`));
    throw error;
  }
}

void start();
