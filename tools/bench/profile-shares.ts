/** Sums up a profile by what the code belongs to: a room of src, a package, Node, V8, the kernel. */

/** Where some of the time went. */
export interface ProfilePlace {
  /** What the code belongs to. */
  readonly owner: string
  /** Which part of it. */
  readonly part: string
  readonly weight: number
}

/**
 * Reads V8's CPU profile: its wall time by the JavaScript function that ran, or that waited for what it called. Idle
 * time is left out.
 */
export const placesOfProfile = (text: string): readonly ProfilePlace[] => {
  const { nodes, samples, timeDeltas }: CpuProfile = JSON.parse(text)
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]))
  return samples.flatMap((id, index): readonly ProfilePlace[] => {
    const frame = frames.get(id)
    if (frame === undefined || frame.functionName === '(idle)') return []
    const weight = timeDeltas[index] ?? 0
    return [{ ...ofFrame(frame), weight }]
  })
}

interface CallFrame {
  readonly functionName: string
  readonly url: string
}

interface CpuProfile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: CallFrame }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

const ofFrame = ({ functionName, url }: CallFrame): Omit<ProfilePlace, 'weight'> => {
  if (functionName === '(garbage collector)') return { owner: 'garbage collection', part: 'main thread' }
  if (functionName === '(program)') return { owner: 'outside JavaScript', part: 'event loop, system calls' }
  return url === '' ? { owner: 'V8 and native functions', part: functionName } : ofUrl(url)
}

/** Reads what `--perf` left: samples, file and function, a line each. */
export const placesOfPerf = (text: string): readonly ProfilePlace[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [count = '0', file = '', symbol = ''] = line.split('\t')
      return { ...ofSymbol(file, symbol), weight: Number(count) }
    })

const collecting = /Scaveng|Mark|Sweep|Evacuat|Heap|Visitor|GCTracer|Allocat|RecordWrite|Remembered|FreeList|Space::/
const compiling = /compiler|turboshaft|maglev|baseline|interpreter::|Parser|wasm::|Compil|TurboAssembler/

const ofSymbol = (file: string, symbol: string): Omit<ProfilePlace, 'weight'> => {
  if (file.includes('kernel') || file.endsWith('.ko')) return { owner: 'kernel', part: kernelPart(symbol) }
  if (/^JS:.*wasm/.test(symbol)) return wasm
  const [, url] = /^JS:.* (\S+):\d+:\d+$/.exec(symbol) ?? []
  if (url !== undefined) return ofUrl(url)
  if (symbol.startsWith('Builtins_')) return { owner: 'V8 built-ins', part: symbol.slice('Builtins_'.length) }
  if (symbol.startsWith('v8::')) {
    if (compiling.test(symbol)) return { owner: 'V8 compilers', part: 'all' }
    if (collecting.test(symbol)) return { owner: 'garbage collection', part: 'all threads' }
    return { owner: 'V8 runtime', part: symbol.split('(')[0]?.split('::').slice(-2).join('::') ?? symbol }
  }
  if (/^(node::|uv_|uv__|llhttp)/.test(symbol)) return { owner: 'Node, C++', part: symbol.split(/[:_]/)[0] ?? symbol }
  return { owner: 'other native code', part: symbol }
}

const kernelPart = (symbol: string): string =>
  /tcp|ip_|ipv4|skb|sk_|sock|inet|net|loopback|nf_/.test(symbol)
    ? 'network'
    : /sched|switch|wake|futex|epoll|ep_|poll/.test(symbol)
      ? 'waiting and waking'
      : 'rest'

// Profiles do not say whose: undici's parser of HTTP/1 while it serves, and while it starts Node's stripping of types.
const wasm = { owner: 'WebAssembly', part: 'undici’s llhttp, type stripping' }

const ofUrl = (url: string): Omit<ProfilePlace, 'weight'> => {
  if (url.startsWith('wasm:')) return wasm
  const packaged = /node_modules\/((?:@[^/]+\/)?[^/]+)\/(.*)$/.exec(url.slice(url.lastIndexOf('node_modules')))
  if (packaged?.[1] !== undefined) return { owner: packaged[1], part: packaged[2] ?? '' }
  if (url.startsWith('node:')) return { owner: 'Node, JavaScript', part: url.slice('node:'.length) }
  const own = /\/src\/(.*)$/.exec(url)?.[1]
  if (own === undefined) return { owner: 'other JavaScript', part: url }
  return { owner: 'src', part: own.includes('/') ? `${own.split('/')[0]}/` : own }
}
