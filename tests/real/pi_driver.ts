// For tests: what a person does in Pi's own interface, as commands; and whether the agent works, as notices.
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function driver(pi: ExtensionAPI): void {
  pi.registerCommand("test:tree", {
    description: "Move to an entry of the tree",
    handler: async (id, ctx) => {
      await ctx.navigateTree(id, { summarize: false });
    },
  });
  pi.registerCommand("test:reload", {
    description: "Load the extensions again",
    handler: async (_words, ctx) => {
      await ctx.reload();
    },
  });
  // Before the second look of anybody else's trigger: the agent has work again.
  pi.on("agent_settled", () => {
    if (process.env.TEST_GOES_ON !== "1") return;
    process.env.TEST_GOES_ON = "0";
    pi.sendUserMessage("and go on");
  });
}
