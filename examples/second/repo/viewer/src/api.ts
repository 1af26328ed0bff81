export interface Recording {
  digest: string;
  station: string;
  serial: string;
  name: string;
  bytes: number;
  started: string;
  state: "local" | "pushing" | "pushed" | "refused";
}

export interface Call {
  species: string;
  start_ms: number;
  end_ms: number;
  score: number;
}

export interface Page<T> {
  items: T[];
  next: string | null;
}

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly path: string,
    message: string,
  ) {
    super(`${path}: ${status} ${message}`);
  }
}

async function get<T>(path: string, query: Record<string, string | undefined> = {}): Promise<T> {
  const url = new URL(path, window.location.origin);
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") url.searchParams.set(key, value);
  }
  const answer = await fetch(url, { headers: { accept: "application/json" } });
  if (!answer.ok) throw new ApiError(answer.status, path, await answer.text());
  return (await answer.json()) as T;
}

export function recordings(station: string, day?: string, after?: string): Promise<Page<Recording>> {
  return get("/api/recordings", { station, day, after });
}

export function calls(digest: string): Promise<Call[]> {
  return get(`/api/recordings/${digest}/calls`);
}

export async function samples(digest: string, from: number, to: number): Promise<Int16Array> {
  const answer = await fetch(`/api/recordings/${digest}/samples?from=${from}&to=${to}`);
  if (!answer.ok) throw new ApiError(answer.status, "samples", await answer.text());
  return new Int16Array(await answer.arrayBuffer());
}
