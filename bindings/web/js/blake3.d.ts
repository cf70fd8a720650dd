/** Input of a hash. A string is encoded as UTF-8, and half a surrogate pair becomes U+FFFD. */
export type HashInput = Uint8Array | ArrayBuffer | SharedArrayBuffer | ArrayBufferView | string

export interface IBaseHashOptions {
  /** Bytes of output. Default: 32. */
  length?: number
}

export type BrowserEncoding = "hex" | "base64" | "utf8"

/** A digest: bytes with conversions to text. */
export declare class Hash extends Uint8Array {
  /** Whether the bytes are equal, in constant time. */
  equals(other: unknown): boolean
  /** Default: hexadecimal digits. */
  toString(encoding?: BrowserEncoding): string
}

/** Reads output from any position on, up to 2^64 - 1 bytes. */
export interface IHashReader<T> extends Iterable<Readonly<Uint8Array>> {
  position: bigint
  readInto(target: Uint8Array): number
  read(bytes: number): T
  view(bytes: number): Readonly<Uint8Array>
}

export interface IHasher<T> {
  update(data: HashInput): this
  digest(options?: IBaseHashOptions): T
  reader(): IHashReader<T>
  /** Discards the state and its key. Memory is freed without this call, too. */
  dispose(): void
}

export declare class BrowserHasher implements IHasher<Hash> {
  private constructor()
  update(data: HashInput): this
  // A string has a length, too, and would be taken for options.
  digest(encoding: BrowserEncoding, options?: IBaseHashOptions): string
  digest(encoding: undefined, options: IBaseHashOptions): Hash
  digest(options?: IBaseHashOptions & object): Hash
  reader(): IHashReader<Hash>
  dispose(): void
}

export declare const defaultHashLength: 32
export declare const maxHashBytes: bigint
export declare const inputToArray: (input: HashInput) => Uint8Array

/** Loads the module. In a browser this must precede synchronous functions; in Node it is already loaded. */
export declare function load(): Promise<void>

export declare function hash(input: HashInput, options?: IBaseHashOptions): Hash
export declare function keyedHash(key: HashInput, input: HashInput, options?: IBaseHashOptions): Hash
export declare function deriveKey(context: HashInput, material: HashInput, options?: IBaseHashOptions): Hash
export declare const createHash: () => BrowserHasher
export declare const createKeyed: (key: HashInput) => BrowserHasher
export declare const createDeriveKey: (context: HashInput) => BrowserHasher

export interface AsyncHashOptions extends IBaseHashOptions {
  /** 32 bytes; excludes a context. */
  key?: HashInput
  /** For a derived key; excludes a key. */
  context?: HashInput
  /** Aborts the work, which then fails with the signal's reason. */
  signal?: AbortSignal
  /** Called with the number of finished bytes, and the total, if it is known. */
  onProgress?: (done: number, total: number | undefined) => void
}

export interface BlobHashOptions extends AsyncHashOptions {
  onProgress?: (done: number, total: number) => void
  /** Maximum number of workers. Default: up to four; 0 for none. */
  threads?: number
}

/** The digest of bytes or a string, in pieces between which the event loop runs. */
export declare function hashAsync(input: HashInput, options?: AsyncHashOptions): Promise<Hash>
/** The digest of input in pieces. */
export declare function hashStream(
  stream: ReadableStream<HashInput> | AsyncIterable<HashInput> | Iterable<HashInput>,
  options?: AsyncHashOptions,
): Promise<Hash>
/** The digest of a Blob or a File, by workers if available. */
export declare function hashBlob(blob: Blob, options?: BlobHashOptions): Promise<Hash>
