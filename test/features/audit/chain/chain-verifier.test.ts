import { describe, expect, test } from 'vitest'
import { eventLine, headLine } from '../../../../src/features/audit/audit-line.ts'
import { toTornLine } from '../../../../src/features/audit/backlog.ts'
import { genesis, linePrefix, nextLinePrefix, seal, toAuditKey } from '../../../../src/features/audit/chain/chain.ts'
import { faults, key, places, sample, type VerifyOptions, verified } from '../sample-audit-log.ts'

const whole = sample(4)
const lines = whole.text.trimEnd().split('\n')
const text = (edited: readonly string[]): string => edited.map((line) => `${line}\n`).join('')
const at = { count: whole.link.count, hash: whole.link.mac, chain: null }

test('an audit log as it was written is whole, and says where it ends', () => {
  const { findings, notes, chains } = verified([whole.text], { checkpoints: [at] })

  expect([findings, notes]).toEqual([[], []])
  expect(chains).toEqual([{ first: 1, last: whole.link, lines: 5 }])
})

test('every edit of a single byte is found, and so is every byte that is dropped or added', () => {
  const bytes = Buffer.from(sample(1).text)
  const missed: string[] = []
  const check = (edited: Buffer, what: string): void => {
    if (verified([edited]).findings.length === 0) missed.push(what)
  }

  for (const [n, byte] of bytes.entries()) {
    for (const difference of [1, 32, 128]) {
      const edited = Buffer.from(bytes)
      edited[n] = byte ^ difference
      check(edited, `byte ${n} ^ ${difference}`)
    }
    for (const other of [10, 32, 34, 48])
      if (byte !== other)
        check(Buffer.concat([bytes.subarray(0, n), Buffer.of(other), bytes.subarray(n + 1)]), `byte ${n} = ${other}`)
    // Without its last byte, a line feed, the last line is still whole.
    if (n < bytes.length - 1) check(Buffer.concat([bytes.subarray(0, n), bytes.subarray(n + 1)]), `byte ${n} dropped`)
    check(Buffer.concat([bytes.subarray(0, n), Buffer.of(120), bytes.subarray(n)]), `a byte before ${n}`)
  }

  expect(missed).toEqual([])
})

const sealedWith = (id: string, given = key.id): string =>
  `this and what follows is sealed with key ${id}, and cannot be verified; expected a --key with that id, and not ${given}`

const stranger = toAuditKey('x'.repeat(32))
const forged = sample(4, undefined, stranger).text
const other = sample(4)

describe('a line', () => {
  test.each([
    ['edited', [lines[0], lines[1], lines[2]?.replace('"status":200', '"status":500'), lines[3], lines[4]], ['a:3']],
    ['dropped', [lines[0], lines[1], lines[3], lines[4]], ['a:3']],
    ['inserted twice', [lines[0], lines[1], lines[1], lines[2], lines[3], lines[4]], ['a:3']],
    ['moved', [lines[0], lines[2], lines[1], lines[3], lines[4]], ['a:2', 'a:3', 'a:4']],
    ['of something else', [lines[0], lines[1], 'an intruder', lines[2], lines[3], lines[4]], ['a:3']],
    ['that is empty', [lines[0], lines[1], '', lines[2], lines[3], lines[4]], ['a:3']],
    ['at the front dropped', lines.slice(1), ['a:1', 'a:2', 'a:3', 'a:4']],
    ['dropped behind lines of an unknown key', forged.trimEnd().split('\n').toSpliced(2, 1), ['a:1', 'a:3']],
  ])('%s is found where it is', (_, edited, found) => {
    expect(faults([text(edited.map((line = '') => line))])).toEqual(found)
  })

  test('of another key is no line of it, which is said once and not of each line', () => {
    expect(verified([forged]).findings).toEqual([{ file: 'a', line: 1, message: sealedWith(stranger.id) }])
    const again = sample(4, undefined, stranger).text
    expect(faults([forged + whole.text + again], { mixed: true })).toEqual(['a:1'])
  })
})

describe('an end that was cut off', () => {
  const cut = text(lines.slice(0, 3))
  const later = sample(2, sample(6).link).text
  const cutOff = 'the end was cut off: this is number 3, the last; the checkpoint expects 5 lines'

  test('is found by a checkpoint, and by nothing else', () => {
    expect(faults([cut])).toEqual([])
    const found = [{ file: 'a', line: 3, message: cutOff }]
    expect(verified([cut], { checkpoints: [at] }).findings).toEqual(found)
  })

  test.each([
    ['and written anew, by one in the midst', [other.text], 3, `the checkpoint expects ${at.hash}`],
    ['of one chain, by one without a name, however late the other begins', [cut, later], 5, cutOff],
    ['of the last of them as well', [later, cut], 5, cutOff],
    ['with everything else, by any', [''], 5, 'there is no line of an audit log'],
  ])('%s', (_, files, count, message) => {
    const { findings } = verified(files, { checkpoints: [{ ...at, count }] })

    expect(findings).toMatchObject([{ message: expect.stringContaining(message) }])
  })

  test('is none where the checkpoint is of an earlier file', () => {
    const second = sample(2, whole.link).text
    const note = { message: 'the checkpoint of 2 lines is of an earlier file' }

    for (const files of [[second], [later, second]])
      expect(verified(files, { checkpoints: [{ ...at, count: 2 }] })).toMatchObject({ findings: [], notes: [note] })
  })

  test('with everything else, and another log begun in its place, is found by a checkpoint that names its chain', () => {
    const checkpoints = [whole.link, other.link].map(({ chain, count, mac: hash }) => ({ chain, count, hash }))

    for (const mixed of [false, true])
      expect(verified([other.text], { checkpoints, mixed }).findings).toMatchObject([
        { message: expect.stringContaining(`no line is of chain ${whole.link.chain}`) },
      ])
  })

  test('is found among several chains by a checkpoint without a name, which is met by any of them', () => {
    const wrong = { ...at, hash: '0'.repeat(64) }

    expect(faults([whole.text, other.text], { mixed: true, checkpoints: [at] })).toEqual([])
    expect(faults([whole.text, other.text], { mixed: true, checkpoints: [wrong] })).toHaveLength(1)
    expect(faults([cut, other.text], { mixed: true, checkpoints: [at] })).toHaveLength(1)
  })
})

test('a line is compared with the checkpoints of its number, however many there are', () => {
  let reads = 0
  const checkpoint = {
    ...at,
    get count() {
      reads++
      return 3000
    },
  }

  verified([sample(100).text], { checkpoints: [checkpoint] })

  expect(reads).toBeLessThan(10)
})

describe('several files', () => {
  const second = sample(2, whole.link)
  const third = sample(2, second.link)
  const later = sample(2, other.link).text
  const endless = `${whole.text}${nextLinePrefix(whole.link)}"time":`
  const piece = `${linePrefix}0123`
  const announced = headLine(0, 'start', genesis(), key, toTornLine(Buffer.from(piece)))
  const torn = `${piece}\n${seal(key, genesis(), announced).line}`
  const headless = later.slice(later.indexOf('\n') + 1)
  const renamed = second.text.replace(whole.link.chain, '0'.repeat(16))

  test.each<[string, readonly string[], string | null]>([
    ['are one chain in their order', [whole.text, second.text], null],
    ['begin each where it says', [second.text], null],
    ['are none in another order', [second.text, whole.text], 'b:1'],
    ['are none with one missing between them', [whole.text, third.text], 'b:1'],
    ['begin no chain with a line that says not what it follows', [whole.text, headless], 'b:1'],
    ['begin no chain with a line that was edited', [whole.text, later.replace('"seq":6', '"seq":7')], 'b:1'],
    ['begin no chain with a line of another name', [whole.text, renamed], 'b:1'],
    ['begin no chain in their midst', [whole.text + other.text], 'a:6'],
    ['begin not the same chain twice', [whole.text, whole.text], 'b:1'],
  ])('%s', (_, files, place) => {
    const found = faults(files)

    if (place === null) expect(found).toEqual([])
    else expect(found).toContain(place)
  })

  test.each([
    ['where audit.file was edited to another disk', [whole.text, other.text], 1],
    ['where a line of the one before was torn', [endless, other.text], 1],
    ['where the older files of that are archived', [whole.text, later], 6],
    ['where those of both are', [second.text, later], 6],
    ['where its first line was torn', [whole.text, torn], 1],
    ['where its first line was torn, and the last of the one before', [endless, torn], 1],
  ])('may begin another chain %s', (_, files, first) => {
    const { findings, chains } = verified(files, { checkpoints: files[0] === second.text ? [] : [at] })

    expect(findings).toEqual([])
    expect(chains.map((chain) => chain.first)[1]).toBe(first)
  })

  test('may begin another chain, with a checkpoint of it that names none', () => {
    const { text, link } = sample(2)
    const files = [whole.text, text]
    const checkpoint = { chain: null, count: link.count, hash: link.mac }
    const wrong = { ...checkpoint, hash: '0'.repeat(64) }

    expect(faults(files, { checkpoints: [at, checkpoint] })).toEqual([])
    expect(verified(files, { checkpoints: [wrong] }).findings).toMatchObject([
      { file: 'a', line: 3, message: expect.stringContaining('the checkpoint expects 0000') },
    ])
  })
})

describe('a torn line', () => {
  const piece = `${nextLinePrefix(whole.link)}"time":`
  const invented = piece.replace('time', 'invented')
  /** Seals the line behind it, which reports these pieces. */
  const behind = (...pieces: readonly string[]): string => {
    const claimed = pieces.length === 0 ? null : toTornLine(Buffer.from(pieces.join('\n')))
    return seal(key, whole.link, headLine(0, 'start', whole.link, key, claimed)).line
  }
  const [one, two] = [`${linePrefix}0123`, `${linePrefix}01234`]
  const beginning = headLine(0, 'start', genesis(), key, toTornLine(Buffer.from(`${one}\n${two}`)))
  const edited = piece.replace('"seq":6', '"seq":7')

  test('at the end is a note, and no fault', () => {
    const { findings, notes } = verified([whole.text + piece])

    expect([findings, places(notes)]).toEqual([[], ['a:6']])
  })

  test.each<[string, readonly string[], 'in order' | 'a fault', VerifyOptions?]>([
    ['that is something else', [`${whole.text}an intruder`], 'a fault'],
    ['that is a line of the log', [`${whole.text}{"level":30`], 'a fault'],
    ['with another number', [whole.text + edited], 'a fault'],
    ['of another chain', [whole.text + piece.replace('"audit":"', '"audit":"x')], 'a fault'],
    ['that the next line reports', [`${whole.text}${piece}\n${behind(piece)}`], 'in order'],
    ['that it does not report', [`${whole.text}${piece}\n${behind()}`], 'a fault'],
    ['that it reports otherwise', [`${whole.text}${piece.slice(1)}\n${behind(piece)}`], 'a fault'],
    ['that it reports, and that is gone', [`${whole.text}${behind(piece)}`], 'a fault'],
    ['that it reports in a stream', [`${whole.text}${piece}\n${behind(piece)}`], 'in order', { mixed: true }],
    ['in each of two files, the second reported', [whole.text + invented, `${piece}\n${behind(piece)}`], 'a fault'],
    ['in each, the first reported', [whole.text + invented, `${piece}\n${behind(invented)}`], 'a fault'],
    ['in each, none reported', [whole.text + invented, `${piece}\n${behind()}`], 'a fault'],
    ['in each, both reported', [whole.text + invented, `${piece}\n${behind(invented, piece)}`], 'in order'],
    ['in each, both reported in a third', [whole.text + invented, piece, behind(invented, piece)], 'in order'],
    ['in each at the end', [whole.text + piece, piece], 'a fault'],
    ['in each before the first line of a chain', [one, two, seal(key, genesis(), beginning).line], 'in order'],
  ])('%s', (_, files, verdict, options) => {
    expect(faults(files, options)).toEqual(verdict === 'in order' ? [] : ['a:6'])
  })
})

test('of what is wrong line after line the first is kept, and of the rest how much it is', () => {
  const long = sample(3000)
  const { findings, omittedFindings } = verified([long.text.split('\n').slice(1).join('\n')])

  expect([findings.length, findings[0]?.line, omittedFindings]).toEqual([1000, 1, 2000])
})

test('a key is followed by the next one that the line before names', () => {
  const next = toAuditKey('n'.repeat(32))
  const changed = seal(key, whole.link, eventLine(0, 'key', { next: next.id }))
  const both = [whole.text + changed.line + seal(next, changed.link, '"event":"more"').line]

  expect(faults(both, { keys: [key, next] })).toEqual([])
  expect(verified(both).findings).toMatchObject([{ line: 7, message: sealedWith(next.id) }])
  expect(verified(both, { keys: [next] }).findings).toMatchObject([{ line: 1, message: sealedWith(key.id, next.id) }])
})

test('between other lines, chains are followed side by side', () => {
  const [one, two] = [sample(2), sample(2)].map(({ text }) => text.split('\n')) as [string[], string[]]
  const mixed = one.flatMap((line, n) => [line, '{"level":30,"msg":"exchange"}', two[n] ?? '']).join('\n')

  expect(faults([mixed], { mixed: true })).toEqual([])
  expect(faults([mixed.replace('"status":200', '"status":201')], { mixed: true })).toHaveLength(1)
})
