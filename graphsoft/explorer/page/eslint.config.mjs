import js from "@eslint/js";
import tseslint from "typescript-eslint";

// The page shows texts of others: these ways to turn text into tags or code are closed.
const CLOSED = ["innerHTML", "outerHTML", "insertAdjacentHTML", "srcdoc"];

export default tseslint.config(
  { ignores: ["node_modules", "build"] },
  js.configs.recommended,
  {
    files: ["src/**/*.ts", "tests/**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      "@typescript-eslint/no-non-null-assertion": "off",
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-floating-promises": ["error", { allowForKnownSafeCalls: ["test"] }],
      "no-eval": "error",
      "no-restricted-properties": ["error", ...CLOSED.map((property) => ({ property }))],
      "no-restricted-globals": ["error", "fetch", "XMLHttpRequest", "WebSocket", "EventSource", "Worker"],
      "max-lines": ["error", 400],
    },
  },
  { files: ["*.mjs"], languageOptions: { globals: { process: "readonly", console: "readonly" } } },
);
