// The vendors' own clients against the model server: node sdk_test.mjs MODEL_SERVER.
//
// What our client is tested against must be what real clients accept. Each of them reads every kind of
// stream the server has, sends the response back with results, and meets its errors.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

let server;
let port;

before(async () => {
  server = spawn(process.env.MODEL_SERVER, { stdio: ["pipe", "pipe", "inherit"] });
  const [line] = await once(createInterface({ input: server.stdout }), "line");
  port = Number(line);
});

after(() => server.stdin.end());

const good = ["whole", "pieces-1", "pieces-7", "pings", "unknown", "large-200"];
const argsOne = { path: "src/ä.txt", limit: 1 };
const tool = { name: "read", description: "Reads a file.", input_schema: { type: "object" } };

function anthropic(behaviour, options = {}) {
  return new Anthropic({ apiKey: "sk-x", baseURL: `http://127.0.0.1:${port}/${behaviour}`, maxRetries: 0, ...options });
}

const anthropicRequest = {
  model: "claude-test-1",
  max_tokens: 100,
  tools: [tool],
  messages: [{ role: "user", content: "How is the weather?" }],
};

function checkAnthropic(message) {
  const [thinking, redacted, text, one, two] = message.content;
  assert.equal(message.content.length, 5);
  assert.equal(thinking.type, "thinking");
  assert.ok(thinking.thinking.startsWith("Zuerst prüfe ich die Lage — dann 東京 🌍. Zuerst"));
  assert.equal(thinking.signature, "EqQBCkYIBxgCKkC/x+Zt8w==0123456789abcdef/ÄÖ");
  assert.deepEqual(redacted, { type: "redacted_thinking", data: "b3Bh/cXVl==" });
  assert.ok(text.text.startsWith('Satz 0: "größer" \\ 🌍\n and so on'));
  assert.ok(Buffer.byteLength(text.text) >= 1200);
  assert.deepEqual(one.input, argsOne);
  assert.equal(two.input.city, "Tōkyō 😀");
  assert.equal(message.stop_reason, "tool_use");
  assert.equal(message.usage.input_tokens, 20);
  assert.equal(message.usage.cache_read_input_tokens, 4000);
  assert.equal(message.usage.output_tokens, 577);
}

describe("@anthropic-ai/sdk", () => {
  for (const behaviour of good) {
    test(`reads ${behaviour}`, async () => {
      checkAnthropic(await anthropic(behaviour).messages.stream(anthropicRequest).finalMessage());
    });
  }

  for (const [behaviour, word] of [["length", "max_tokens"], ["refusal", "refusal"], ["pause", "pause_turn"]]) {
    test(`is told why ${behaviour} stopped`, async () => {
      const message = await anthropic(behaviour).messages.stream(anthropicRequest).finalMessage();
      assert.equal(message.stop_reason, word);
      assert.equal(message.content[0].text, "Done.");
    });
  }

  test("sends a response back", async () => {
    const message = await anthropic("whole").messages.stream(anthropicRequest).finalMessage();
    const results = message.content
      .filter((block) => block.type === "tool_use")
      .map((block) => ({ type: "tool_result", tool_use_id: block.id, content: "sunny" }));
    const messages = [
      ...anthropicRequest.messages,
      { role: "assistant", content: message.content },
      { role: "user", content: results },
    ];
    const answer = await anthropic("final").messages.stream({ ...anthropicRequest, messages }).finalMessage();
    assert.equal(answer.content[0].text, "Done.");
    assert.equal(answer.stop_reason, "end_turn");
    const orphaned = anthropic("final").messages.stream({ ...anthropicRequest, messages: messages.slice(0, 2) });
    await assert.rejects(orphaned.finalMessage(), Anthropic.BadRequestError);
  });

  test("meets the server's errors as the vendor's", async () => {
    const ask = (behaviour, options) => anthropic(behaviour, options).messages.stream(anthropicRequest).finalMessage();
    await assert.rejects(ask("status-400"), Anthropic.BadRequestError);
    await assert.rejects(ask("status-401"), Anthropic.AuthenticationError);
    await assert.rejects(ask("status-404"), Anthropic.NotFoundError);
    await assert.rejects(ask("busy-9"), Anthropic.RateLimitError);
    await assert.rejects(ask("status-529"), (error) => error.status === 529 && error.requestID === "req_9");
    await assert.rejects(ask("error"), /Overloaded/);
    await assert.rejects(ask("cut-2500"));
    await assert.rejects(ask("chunkcut-2500"));
    await assert.rejects(ask("drop"), Anthropic.APIConnectionError);
    checkAnthropic(await ask("busy-2", { maxRetries: 2 }));
    checkAnthropic(await ask("overloaded-1", { maxRetries: 2 }));
  });
});

function openai(behaviour, options = {}) {
  return new OpenAI({ apiKey: "sk-x", baseURL: `http://127.0.0.1:${port}/${behaviour}/v1`, maxRetries: 0, ...options });
}

const chatRequest = {
  model: "local-1",
  stream_options: { include_usage: true },
  tools: [{ type: "function", function: { name: "read", parameters: tool.input_schema } }],
  messages: [{ role: "user", content: "How is the weather?" }],
};

function checkChat(completion) {
  const { message, finish_reason: reason } = completion.choices[0];
  assert.equal(reason, "tool_calls");
  assert.ok(message.content.startsWith('Satz 0: "größer" \\ 🌍\n and so on'));
  assert.deepEqual(JSON.parse(message.tool_calls[0].function.arguments), argsOne);
  assert.equal(message.tool_calls[1].id, "call_b");
  assert.equal(JSON.parse(message.tool_calls[1].function.arguments).city, "Tōkyō 😀");
  assert.equal(completion.usage.prompt_tokens_details.cached_tokens, 4000);
  assert.equal(completion.usage.completion_tokens_details.reasoning_tokens, 64);
}

describe("openai", () => {
  const ask = (behaviour, options, request = chatRequest) =>
    openai(behaviour, options).chat.completions.stream(request).finalChatCompletion();

  for (const behaviour of good) {
    test(`reads ${behaviour}`, async () => checkChat(await ask(behaviour)));
  }

  for (const [behaviour, word] of [["length", "length"], ["refusal", "content_filter"]]) {
    test(`is told why ${behaviour} stopped`, async () => {
      const words = [];
      const chunks = await openai(behaviour).chat.completions.create({ ...chatRequest, stream: true });
      for await (const { choices } of chunks) words.push(...choices.map((choice) => choice.finish_reason));
      assert.deepEqual(words.filter(Boolean), [word]);
    });
  }

  test("sends a response back", async () => {
    const { message } = (await ask("whole")).choices[0];
    const results = message.tool_calls.map((call) => ({ role: "tool", tool_call_id: call.id, content: "sunny" }));
    const messages = [...chatRequest.messages, message, ...results];
    const answer = await ask("final", {}, { ...chatRequest, messages });
    assert.equal(answer.choices[0].message.content, "Done.");
    const orphaned = ask("final", {}, { ...chatRequest, messages: messages.slice(0, 3) });
    await assert.rejects(orphaned, OpenAI.BadRequestError);
  });

  test("meets the server's errors as the vendor's", async () => {
    await assert.rejects(ask("status-400"), OpenAI.BadRequestError);
    await assert.rejects(ask("status-401"), OpenAI.AuthenticationError);
    await assert.rejects(ask("status-404"), OpenAI.NotFoundError);
    await assert.rejects(ask("busy-9"), OpenAI.RateLimitError);
    await assert.rejects(ask("error"), /Overloaded/);
    await assert.rejects(ask("cut-2500"));
    await assert.rejects(ask("chunkcut-2500"));
    await assert.rejects(ask("drop"), OpenAI.APIConnectionError);
    checkChat(await ask("busy-2", { maxRetries: 2 }));
  });
});
