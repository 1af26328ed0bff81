export interface SpectrogramOptions {
  rate: number;
  fft: number;
  hop: number;
  minDb: number;
  maxDb: number;
}

const DEFAULTS: SpectrogramOptions = { rate: 48_000, fft: 1024, hop: 256, minDb: -92, maxDb: -18 };

function hann(size: number): Float32Array {
  return Float32Array.from({ length: size }, (_, n) => 0.5 - 0.5 * Math.cos((2 * Math.PI * n) / (size - 1)));
}

/** In place, radix 2; re and im have a power of two as length. */
export function fft(re: Float32Array, im: Float32Array): void {
  const size = re.length;
  for (let i = 1, j = 0; i < size; i++) {
    let bit = size >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      [re[i], re[j]] = [re[j]!, re[i]!];
      [im[i], im[j]] = [im[j]!, im[i]!];
    }
  }
  for (let step = 2; step <= size; step <<= 1) {
    const angle = (-2 * Math.PI) / step;
    for (let i = 0; i < size; i += step) {
      for (let k = 0; k < step / 2; k++) {
        const wr = Math.cos(angle * k);
        const wi = Math.sin(angle * k);
        const a = i + k;
        const b = i + k + step / 2;
        const tr = re[b]! * wr - im[b]! * wi;
        const ti = re[b]! * wi + im[b]! * wr;
        re[b] = re[a]! - tr;
        im[b] = im[a]! - ti;
        re[a] = re[a]! + tr;
        im[a] = im[a]! + ti;
      }
    }
  }
}

export class Spectrogram {
  private readonly options: SpectrogramOptions;
  private readonly window: Float32Array;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    options: Partial<SpectrogramOptions> = {},
  ) {
    this.options = { ...DEFAULTS, ...options };
    this.window = hann(this.options.fft);
  }

  draw(samples: Int16Array): void {
    const { fft: size, hop } = this.options;
    const columns = Math.max(1, Math.floor((samples.length - size) / hop) + 1);
    this.canvas.width = columns;
    this.canvas.height = size / 2;
    const context = this.canvas.getContext("2d");
    const image = context.createImageData(columns, size / 2);
    for (let column = 0; column < columns; column++) {
      this.column(samples, column * hop, image, column);
    }
    context.putImageData(image, 0, 0);
  }

  private column(samples: Int16Array, at: number, image: ImageData, x: number): void {
    const { fft: size, minDb, maxDb } = this.options;
    const re = new Float32Array(size);
    const im = new Float32Array(size);
    for (let n = 0; n < size; n++) re[n] = (samples[at + n] / 32768) * this.window[n];
    fft(re, im);
    for (let bin = 0; bin < size / 2; bin++) {
      const power = re[bin]! ** 2 + im[bin]! ** 2;
      const db = 10 * Math.log10(power / size + 1e-12);
      const shade = Math.round((255 * (Math.min(maxDb, Math.max(minDb, db)) - minDb)) / (maxDb - minDb));
      const pixel = 4 * ((size / 2 - 1 - bin) * image.width + x);
      image.data[pixel] = image.data[pixel + 1] = image.data[pixel + 2] = 255 - shade;
      image.data[pixel + 3] = 255;
    }
  }
}
