import { recordings, type Recording } from "./api";
import { el, clear } from "./dom";

const STATE_LABEL: Record<Recording["state"], string> = {
  local: "on disk",
  pushing: "on its way",
  pushed: "archived",
  refused: "refused",
};

export interface ListOptions {
  station: string;
  day?: string;
  onPick: (recording: Recording) => void;
}

export class RecordingList {
  private next: string | null = null;
  private loading = false;

  constructor(
    private readonly root: HTMLElement,
    private readonly options: ListOptions,
  ) {}

  async reload(): Promise<void> {
    clear(this.root);
    this.next = null;
    await this.more();
  }

  async more(): Promise<void> {
    if (this.loading) return;
    this.loading = true;
    try {
      const page = await recordings(this.options.station, this.options.day, this.next ?? undefined);
      for (const item of page.items) this.root.append(this.row(item));
      this.next = page.next;
    } finally {
      this.loading = false;
    }
  }

  private row(item: Recording): HTMLElement {
    const time = new Date(item.started);
    const row = el("button", { class: `row row--${item.state}`, type: "button" }, [
      el("span", { class: "row__time" }, [time.toLocaleTimeString()]),
      el("span", { class: "row__name" }, [item.name]),
      el("span", { class: "row__size" }, [`${(item.bytes / 1e6).toFixed(1)} MB`]),
      el("span", { class: "row__state" }, [STATE_LABEL[item.state]]),
    ]);
    row.addEventListener("click", () => this.options.onPick(item));
    return row;
  }
}
