// Asks each of the models that the page defines, by the Vercel AI SDK. usage: ask.mjs TASK
import { readFileSync, writeFileSync } from "node:fs";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { models, providerOptions } from "./shown.mjs";
import { z } from "zod";

globalThis.AI_SDK_LOG_WARNINGS = false;
const question = { prompt: "Where is the well?", providerOptions };
const tools = {
  write: tool({
    inputSchema: z.object({ filePath: z.string(), content: z.string() }),
    execute: async ({ filePath, content }) => writeFileSync(filePath, content) ?? "Written.",
  }),
  read: tool({
    inputSchema: z.object({ filePath: z.string() }),
    execute: async ({ filePath }) => readFileSync(filePath, "utf8"),
  }),
};
const task = { prompt: process.argv[2], tools, stopWhen: stepCountIs(5), providerOptions };

async function streamed(asked) {
  let failure;
  const answer = streamText({ ...asked, onError: ({ error }) => (failure = error) });
  let text = "";
  for await (const piece of answer.textStream) text += piece;
  if (failure) throw failure;
  return text;
}

const ways = {
  plain: async (model) => (await generateText({ ...question, model })).text,
  streamed: (model) => streamed({ ...question, model }),
  task: async (model) => (await generateText({ ...task, model })).text,
  "streamed task": (model) => streamed({ ...task, model }),
};
for (const [dialect, model] of Object.entries(models)) {
  for (const [how, ask] of Object.entries(ways)) {
    let text;
    try {
      text = await ask(model);
    } catch (error) {
      text = String(error);
    }
    console.log(JSON.stringify({ dialect, how, text }));
  }
}
