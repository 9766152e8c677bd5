// Verdicts of ajv, line by line: {"draft", "schema", "values"} in, [true, false …] or "refused" out.
//
// node oracle.mjs FOLDER, where FOLDER/node_modules has ajv.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const require = createRequire(process.argv[2] + "/");
const options = { strict: false, allErrors: false, validateFormats: false, logger: false, multipleOfPrecision: 9 };
const makers = { 2020: require("ajv/dist/2020").default, 7: require("ajv").default };
const oracles = { 2020: new makers[2020](options), 7: new makers[7](options) };

for await (const line of createInterface({ input: process.stdin })) {
  const { draft, schema, values } = JSON.parse(line);
  let answer = "refused";
  try {
    const validate = oracles[draft].compile(schema);
    answer = values.map((value) => validate(value));
    if (typeof schema === "object") oracles[draft].removeSchema(schema);
  } catch (error) {
    answer = "refused";
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
