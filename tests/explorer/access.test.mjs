// Keys, help, history, paper, high contrast, large letters, and the rules of accessibility in every state.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { PHONE, WHOLE, cell, lasso, launched, opened, pane, pictured, saved, violations } from "./browser.mjs";

let browser;
before(async () => {
  browser = await launched();
});
after(() => browser.close());

const hash = (page, wanted) => page.waitForFunction((text) => location.hash === text, wanted);

test("keys work anywhere but where a text is written, and are told by a help", async () => {
  const { page, watched } = await opened(browser, "digits");
  await page.keyboard.press("[");
  await hash(page, "#level=1");
  for (const key of ["[", "["]) await page.keyboard.press(key);
  await hash(page, "#level=0");
  await page.keyboard.press("]");
  await hash(page, "#level=1");
  assert.equal(await page.locator("[role=status]").innerText(), "Level of 12 clusters");
  await page.keyboard.press("/");
  await page.keyboard.type("[]?/");
  assert.equal(await page.inputValue("#search"), "[]?/");
  await page.fill("#search", "");
  await page.locator(".cells").focus();
  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Keys, mouse and fingers" });
  await help.waitFor();
  assert.equal(await help.evaluate((each) => each.scrollTop), 0);
  await page.keyboard.press("[");
  assert.equal(new URL(page.url()).hash, "#level=1");
  await pictured(page, "40-help");
  await page.keyboard.press("Escape");
  assert.ok(await help.isHidden());
  assert.deepEqual(watched, []);
});

test("a slow click counts where the tree was drawn again in the middle of it", async () => {
  const { page, watched } = await opened(browser, "digits");
  for (const id of ["1-2", "2-1", "1-4"]) {
    const box = await cell(page, id).boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.mouse.down();
    await page.waitForTimeout(100);
    await page.mouse.up();
    await hash(page, `#cluster=${id}`);
  }
  assert.deepEqual(watched, []);
});

test("clusters are named one after another with keys alone", async () => {
  const { page, watched } = await opened(browser, "digits");
  await page.locator(".cells").focus();
  for (const key of ["ArrowDown", "ArrowDown"]) await page.keyboard.press(key);
  for (const [id, name] of [["1-0", "threes"], ["1-1", "fives"]]) {
    await page.getByLabel(`Name of cluster ${id}`).waitFor();
    await page.keyboard.press("n");
    await page.keyboard.type(name);
    await page.keyboard.press("Enter");
    await page.locator(".panel h2", { hasText: name }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("ArrowRight");
  }
  const { text } = await saved(page, "Save names");
  assert.deepEqual(JSON.parse(text), { "1-0": "threes", "1-1": "fives", "2-0": "curved" });
  assert.deepEqual(watched, []);
});

test("the focus can be seen wherever the Tab key leads", async () => {
  for (const fragment of ["#cluster=1-2&point=5", "#view=labels&level=1"]) {
    const { page, watched } = await opened(browser, "digits", { fragment });
    await page.locator(".panel h3").first().waitFor();
    const unseen = [];
    let steps = 0;
    for (; steps < 200; steps++) {
      await page.keyboard.press("Tab");
      const at = await page.evaluate(() => {
        const here = document.activeElement;
        if (here === document.body) return null;
        const { outlineStyle, outlineWidth } = getComputedStyle(here);
        const { width, height } = here.getBoundingClientRect();
        const seen = outlineStyle !== "none" && parseFloat(outlineWidth) >= 2 && width > 0 && height > 0;
        return seen ? "" : here.outerHTML.slice(0, 100);
      });
      if (at === null) break;
      if (at) unseen.push(at);
    }
    assert.ok(steps > 20);
    assert.deepEqual(unseen, []);
    assert.deepEqual(watched, []);
  }
});

test("the ruler is dragged, all views follow, and one step takes it back", async () => {
  const { page, watched } = await opened(browser, "digits");
  const box = await page.locator("#level").boundingBox();
  const at = (part) => [box.x + 8 + (box.width - 16) * part, box.y + box.height / 2];
  await page.mouse.move(...at(1));
  await page.mouse.down();
  for (const part of [0.8, 0.5, 0.3, 0]) await page.mouse.move(...at(part), { steps: 3 });
  await page.mouse.up();
  await hash(page, "#level=0");
  assert.equal(await page.locator("output").innerText(), "60 clusters");
  await page.locator(".panel h3", { hasText: "12 heaviest of 60 clusters" }).waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await hash(page, "");
  await page.locator(".ticks span", { hasText: "12" }).click();
  await hash(page, "#level=1");
  await page.getByRole("tab", { name: "Labels" }).click();
  await page.locator(".confusion").waitFor();
  await page.waitForFunction(() => document.querySelectorAll(".confusion [role=rowheader]").length === 12);
  await page.locator("#level").press("ArrowLeft");
  await page.waitForFunction(() => document.querySelectorAll(".confusion [role=rowheader]").length === 60);
  assert.deepEqual(watched, []);
});

test("names survive reload, back and forward, and are undone and done again", async () => {
  const { page, watched } = await opened(browser, "digits");
  const rename = async (id, name) => {
    await cell(page, id).click();
    await page.getByLabel(`Name of cluster ${id}`).fill(name);
    await page.keyboard.press("Enter");
    await page.locator(".panel h2", { hasText: name }).waitFor();
  };
  await rename("1-2", "twos");
  assert.equal(await page.evaluate(() => document.activeElement.id), "rename");
  await rename("1-3", "sevens");
  await page.goBack();
  await page.waitForFunction(() => location.hash.startsWith("#cluster=1-2&"));
  await page.goBack();
  await page.waitForFunction(() => location.hash.startsWith("#names="));
  assert.match(await cell(page, "1-2").innerText(), /twos/);
  assert.match(await cell(page, "1-3").innerText(), /sevens/);
  await page.goForward();
  await page.reload();
  await cell(page, "1-3").waitFor();
  assert.match(await cell(page, "1-3").innerText(), /sevens/);
  await rename("1-4", "eights");
  await page.keyboard.press("Tab"); // out of the text, where Ctrl+Z is of the letters
  await page.keyboard.press("Control+z");
  await cell(page, "1-4").filter({ hasText: /^1-4/ }).waitFor();
  await page.keyboard.press("Control+Shift+z");
  await cell(page, "1-4").filter({ hasText: "eights" }).waitFor();
  const { name, text } = await saved(page, "Save names");
  assert.equal(name, "names.json");
  assert.deepEqual(JSON.parse(text), { "1-2": "twos", "1-3": "sevens", "1-4": "eights", "2-0": "curved" });
  assert.deepEqual(watched, []);
});

test("a page prints on A4, light, with the tree, the map and the panel, and is as before after that", async () => {
  for (const [name, options] of [["dark", { colorScheme: "dark" }], ["phone", { viewport: PHONE }]]) {
    const { page, watched } = await opened(browser, "digits", { fragment: "#cluster=1-2", ...options });
    await page.locator(".panel h3").first().waitFor({ state: "attached" });
    await page.waitForTimeout(200);
    const before = await page.screenshot();
    await page.evaluate(() => {
      window.addEventListener("beforeprint", () => {
        const boxes = [".cells", ".map", ".panel"].map((part) => document.querySelector(part).getBoundingClientRect());
        const pictures = [".cells > canvas", ".map > canvas"].map((part) => document.querySelector(part));
        window.printed = {
          widths: boxes.map(({ width }) => Math.round(width)),
          below: boxes[1].top >= boxes[0].bottom && boxes[2].top >= boxes[1].bottom,
          pixels: pictures.map((canvas) => canvas.width / canvas.clientWidth),
          paper: getComputedStyle(document.body).backgroundColor,
        };
      });
    });
    const pdf = await page.pdf({ printBackground: true, preferCSSPageSize: true });
    assert.equal(pdf.subarray(0, 5).toString(), "%PDF-");
    assert.match(pdf.toString("latin1"), /MediaBox\s*\[\s*0 0 59\d\.\d+ 84\d\.\d+/);
    const printed = await page.evaluate(() => window.printed);
    assert.deepEqual(printed, { widths: [703, 703, 703], below: true, pixels: [4, 4], paper: "rgb(255, 255, 255)" });
    await page.waitForTimeout(300);
    assert.ok(before.equals(await page.screenshot()), `${name}: the screen is not as it was`);
    assert.deepEqual(watched, []);
  }
});

test("with colors of the system, clusters keep theirs and controls take the system's", async () => {
  const { page, watched } = await opened(browser, "digits", { forcedColors: "active", colorScheme: "dark", fragment: "#cluster=1-2" });
  await cell(page, "1-2").waitFor();
  const color = (selector) => page.locator(selector).first().evaluate((each) => getComputedStyle(each).backgroundColor);
  assert.notEqual(await color('[id="cell-1-2"]'), await color("body"));
  assert.notEqual(await color(".swatch"), await color("body"));
  assert.notEqual(await color("[role=tab][aria-selected=true]"), await color("body"));
  await page.waitForTimeout(200);
  const paper = await page.locator(".map > canvas").evaluate((canvas) => [...canvas.getContext("2d").getImageData(2, 2, 1, 1).data]);
  assert.deepEqual(paper, [0, 0, 0, 255]);
  assert.deepEqual(await violations(page), []);
  await pictured(page, "41-high-contrast");
  assert.deepEqual(watched, []);
});

test("at 200 and 400 percent everything is there, and scrolls in one direction only", async () => {
  for (const viewport of [{ width: 640, height: 400 }, { width: 320, height: 256 }]) {
    const { page, watched } = await opened(browser, "digits", { viewport, deviceScaleFactor: 2, fragment: "#cluster=1-2" });
    for (const [name, selector] of [["Tree", ".cells"], ["Maps", ".map"], ["Cluster", ".panel h3"]]) {
      await pane(page, name);
      const part = page.locator(selector).first();
      await part.scrollIntoViewIfNeeded();
      const box = await part.boundingBox();
      assert.ok(box.width > 0 && box.height > 10 && box.x + box.width <= viewport.width + 1, `${name} ${JSON.stringify(box)}`);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= viewport.width);
    }
    await pictured(page, `42-zoomed-${viewport.width}`);
    assert.deepEqual(watched, []);
  }
});

test("axe finds no violation in any tab and state", async () => {
  for (const colorScheme of ["light", "dark"]) {
    const { page, watched } = await opened(browser, "digits", { colorScheme, fragment: "#cluster=1-2&point=492&color=labels" });
    await page.locator(".point h3").first().waitFor();
    await page.locator(".legend").waitFor();
    const found = { map: await violations(page) };
    await page.getByRole("button", { name: "Lasso" }).click();
    await lasso(page, WHOLE);
    await page.locator(".map .tip").waitFor({ state: "hidden" });
    found.lasso = await violations(page);
    await page.getByRole("tab", { name: "Labels" }).click();
    await page.getByRole("grid").waitFor();
    found.labels = await violations(page);
    await page.getByRole("grid").locator("td").first().focus();
    found.cell = await violations(page);
    await page.getByRole("button", { name: "treemap" }).click();
    found.treemap = await violations(page);
    await page.keyboard.press("?");
    found.help = await violations(page);
    for (const [state, each] of Object.entries(found)) assert.deepEqual(each, [], state);
    assert.deepEqual(watched, []);
  }
  const { page } = await opened(browser, "digits", { viewport: PHONE });
  for (const name of ["Tree", "Maps", "Cluster"]) {
    await pane(page, name);
    assert.deepEqual(await violations(page), [], name);
  }
});
