import { ConnectionError, errorCodes } from '../http2-error.ts'

/** RFC 7541 appendix B: bits of each symbol's code. The lengths determine the codes, which are canonical. */
const codeLengths = [
  ...[13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28],
  ...[
    28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6,
  ],
  ...[
    12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5,
  ],
  ...[
    6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22,
  ],
  ...[22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22],
  ...[21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23],
  ...[22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21],
  ...[21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27],
  ...[27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30],
]
const endOfString = 256

// The 256 inner nodes of the code tree are the states between bytes; 0 is the root. A leaf stands for its symbol.
const leaf = 1024
const isInner = (node: number): boolean => node < leaf

const growTree = () => {
  const children = [new Int16Array(256), new Int16Array(256)] as const
  const symbols = codeLengths.map((_, symbol) => symbol)
  const lengthOf = (symbol: number): number => codeLengths[symbol] as number
  let innerNodes = 1
  let code = 0
  let lastLength = 0
  for (const symbol of symbols.sort((a, b) => lengthOf(a) - lengthOf(b) || a - b)) {
    const length = lengthOf(symbol)
    code <<= length - lastLength
    lastLength = length
    let node = 0
    for (let bit = length - 1; bit > 0; bit--) {
      const side = children[(code >>> bit) & 1 ? 1 : 0]
      // No node leads to the root, so 0 is a missing node.
      if (side[node] === 0) side[node] = innerNodes++
      node = side[node] as number
    }
    children[code & 1 ? 1 : 0][node] = leaf + symbol
    code++
  }
  return children
}

const failed = 0xff_ff_ff_ff

/**
 * An automaton that takes 8 bits a step. `steps[state << 8 | byte]`: the next state in the lowest byte, the number of
 * symbols in the second, then the symbols: with codes of 5 bits or more, at most two end in a byte.
 */
const [steps, isPadding] = (() => {
  const [zero, one] = growTree()
  const table = new Uint32Array(256 * 256)
  const takeByte = (state: number, byte: number): number => {
    let node = state
    let symbols = 0
    let count = 0
    for (let bit = 7; bit >= 0; bit--) {
      node = ((byte >> bit) & 1 ? one : zero)[node] as number
      if (isInner(node)) continue
      if (node === leaf + endOfString) return failed
      symbols |= (node - leaf) << (16 + 8 * count++)
      node = 0
    }
    return (symbols | (count << 8) | node) >>> 0
  }
  for (let state = 0; state < 256; state++)
    for (let byte = 0; byte < 256; byte++) table[(state << 8) | byte] = takeByte(state, byte)
  // RFC 7541 §5.2: less than 8 bits of padding, all ones.
  const padding = new Uint8Array(256)
  for (let node = 0, bits = 0; bits < 8; bits++) {
    padding[node] = 1
    node = one[node] as number
  }
  return [table, padding] as const
})()

let scratch = Buffer.allocUnsafeSlow(16 * 1024)

/** RFC 7541 §5.2. Returns latin1. Throws {@link ConnectionError}. */
export const decodeHuffman = (bytes: Buffer, from: number, to: number): string => {
  // The shortest code has 5 bits.
  const most = Math.ceil(((to - from) * 8) / 5)
  if (most > scratch.length) scratch = Buffer.allocUnsafeSlow(2 * most)
  let state = 0
  let length = 0
  for (let at = from; at < to; at++) {
    const step = steps[(state << 8) | (bytes[at] as number)] as number
    if (step === failed)
      throw new ConnectionError(errorCodes.compressionError, 'an end-of-string symbol within a Huffman string')
    const count = (step >>> 8) & 3
    if (count > 0) {
      scratch[length++] = (step >>> 16) & 255
      if (count > 1) scratch[length++] = step >>> 24
    }
    state = step & 255
  }
  if (isPadding[state] === 0)
    throw new ConnectionError(errorCodes.compressionError, 'a Huffman string with wrong padding')
  return scratch.toString('latin1', 0, length)
}
