import { describe, expect, test } from 'vitest'
import { eventLine, headLine } from '../../../../src/features/audit/audit-line.ts'
import { toTornLine } from '../../../../src/features/audit/backlog.ts'
import {
  genesis,
  linePrefix,
  nextLinePrefix,
  seal,
  type TornLine,
  toAuditKey,
} from '../../../../src/features/audit/chain/chain.ts'
import { key, places, sample, verified } from '../sample-audit-log.ts'

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

describe('a line', () => {
  test.each([
    ['edited', [lines[0], lines[1], lines[2]?.replace('"status":200', '"status":500'), lines[3], lines[4]], ['a:3']],
    ['dropped', [lines[0], lines[1], lines[3], lines[4]], ['a:3']],
    ['inserted twice', [lines[0], lines[1], lines[1], lines[2], lines[3], lines[4]], ['a:3']],
    ['moved', [lines[0], lines[2], lines[1], lines[3], lines[4]], ['a:2', 'a:3', 'a:4']],
    ['of something else', [lines[0], lines[1], 'an intruder', lines[2], lines[3], lines[4]], ['a:3']],
    ['that is empty', [lines[0], lines[1], '', lines[2], lines[3], lines[4]], ['a:3']],
    ['at the front dropped', lines.slice(1), ['a:1', 'a:2', 'a:3', 'a:4']],
  ])('%s is found where it is', (_, edited, found) => {
    const { findings } = verified([text(edited.map((line = '') => line))])

    expect(places(findings)).toEqual(found)
  })

  test('of another key is no line of it, which is said once and not of each line', () => {
    const other = toAuditKey('x'.repeat(32))
    const forged = sample(4, undefined, other)

    expect(verified([forged.text]).findings).toEqual([{ file: 'a', line: 1, message: sealedWith(other.id) }])
  })

  test('of another key in one chain of several is said once of all that are sealed with it', () => {
    const other = toAuditKey('x'.repeat(32))
    const texts = [sample(4, undefined, other), sample(4), sample(4, undefined, other)].map(({ text }) => text)

    expect(places(verified([texts.join('')], { mixed: true }).findings)).toEqual(['a:1'])
  })

  test('is found after lines of an unknown key, where it was dropped', () => {
    const forged = sample(4, undefined, toAuditKey('x'.repeat(32))).text.split('\n')

    expect(places(verified([[...forged.slice(0, 2), ...forged.slice(3)].join('\n')]).findings)).toEqual(['a:1', 'a:3'])
  })
})

describe('an end that was cut off', () => {
  const cut = text(lines.slice(0, 3))

  test('is found by a checkpoint, and by nothing else', () => {
    expect(verified([cut]).findings).toEqual([])
    expect(verified([cut], { checkpoints: [at] }).findings).toEqual([
      {
        file: 'a',
        line: 3,
        message: 'the end was cut off: this is number 3, the last; the checkpoint expects 5 lines',
      },
    ])
  })

  test('and written anew is found by a checkpoint in the midst', () => {
    const other = sample(4)
    const { findings } = verified([other.text], { checkpoints: [{ ...at, count: 3 }] })

    expect(findings[0]?.message).toContain(`the checkpoint expects ${at.hash}`)
  })

  test('of one chain is found by a checkpoint without a name, however late the other begins', () => {
    const later = sample(2, sample(6).link).text
    const earlier = { ...at, count: 2 }

    for (const files of [
      [cut, later],
      [later, cut],
    ])
      expect(verified(files, { checkpoints: [at] }).findings).toMatchObject([
        { message: expect.stringMatching(/^the end was cut off: this is number 3,/) },
      ])
    expect(verified([later, sample(2, whole.link).text], { checkpoints: [earlier] })).toMatchObject({
      findings: [],
      notes: [{ message: 'the checkpoint of 2 lines is of an earlier file' }],
    })
  })

  test('with everything else is found by any checkpoint', () => {
    expect(verified([''], { checkpoints: [at] }).findings).toHaveLength(1)
  })

  test('with everything else, and another log begun in its place, is found by a checkpoint that names its chain', () => {
    const other = sample(4)
    const checkpoints = [whole.link, other.link].map(({ chain, count, mac: hash }) => ({ chain, count, hash }))

    for (const mixed of [false, true])
      expect(verified([other.text], { checkpoints, mixed }).findings).toMatchObject([
        { message: expect.stringContaining(`no line is of chain ${whole.link.chain}`) },
      ])
  })

  test('is found among several chains by a checkpoint without a name, which is met by any of them', () => {
    const other = sample(4)
    const both = [whole.text, other.text]

    expect(verified(both, { mixed: true, checkpoints: [at] }).findings).toEqual([])
    expect(verified(both, { mixed: true, checkpoints: [{ ...at, hash: '0'.repeat(64) }] }).findings).toHaveLength(1)
    expect(verified([cut, other.text], { mixed: true, checkpoints: [at] }).findings).toHaveLength(1)
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

  test('are one chain in their order, and each begins where it says', () => {
    expect(verified([whole.text, second.text]).findings).toEqual([])
    expect(verified([second.text]).findings).toEqual([])
    expect(places(verified([second.text, whole.text]).findings)).toEqual(['b:1'])
  })

  test('may begin another chain, where audit.file was edited to another disk', () => {
    const other = sample(3)
    const torn = `${nextLinePrefix(whole.link)}"time":`

    for (const last of ['', torn]) {
      const { findings, chains } = verified([whole.text + last, other.text], { checkpoints: [at] })

      expect(findings).toEqual([])
      expect(chains).toEqual([
        { first: 1, last: whole.link, lines: 5 },
        { first: 1, last: other.link, lines: 4 },
      ])
    }
  })

  test('may begin another chain where the older files of that are archived, or its first line was torn', () => {
    const other = sample(3)
    const later = sample(2, other.link)
    const piece = `${linePrefix}0123`
    const announced = headLine(0, 'start', genesis(), key, toTornLine(Buffer.from(piece)))
    const torn = `${piece}\n${seal(key, genesis(), announced).line}`

    for (const [files, first] of [
      [[whole.text, later.text], 5],
      [[second.text, later.text], 5],
      [[whole.text, torn], 1],
      [[`${whole.text}${nextLinePrefix(whole.link)}`, torn], 1],
    ] as const) {
      const { findings, chains } = verified(files)

      expect(findings).toEqual([])
      expect(chains.map((chain) => chain.first)[1]).toBe(first)
    }
  })

  test('may begin another chain, with a checkpoint of it that names none', () => {
    const other = sample(2)
    const checkpoint = { chain: null, count: other.link.count, hash: other.link.mac }

    expect(verified([whole.text, other.text], { checkpoints: [at, checkpoint] }).findings).toEqual([])
    expect(
      verified([whole.text, other.text], { checkpoints: [{ ...checkpoint, hash: '0'.repeat(64) }] }).findings,
    ).toMatchObject([{ file: 'a', line: 3, message: expect.stringContaining('the checkpoint expects 0000') }])
  })

  test('begin no chain with a line that says not what it follows, or that was edited', () => {
    const later = sample(2, sample(3).link).text
    const [, ...cut] = later.split('\n')
    const renamed = second.text.replace(whole.link.chain, '0'.repeat(16))

    expect(places(verified([whole.text, cut.join('\n')]).findings)).toContain('b:1')
    expect(places(verified([whole.text, later.replace('"seq":5', '"seq":6')]).findings)).toContain('b:1')
    expect(places(verified([whole.text, renamed]).findings)).toContain('b:1')
  })

  test('begin no chain in their midst, nor the same one twice', () => {
    const other = sample(3)

    expect(places(verified([whole.text + other.text]).findings)).toContain('a:6')
    expect(places(verified([whole.text, whole.text]).findings)).toContain('b:1')
  })

  test('with one missing between them are not', () => {
    const third = sample(2, second.link)

    expect(places(verified([whole.text, third.text]).findings)).toEqual(['b:1'])
  })

  test('a checkpoint of an earlier one is none of theirs', () => {
    const { findings, notes } = verified([second.text], { checkpoints: [{ ...at, count: 2 }] })

    expect([findings, notes.length]).toEqual([[], 1])
  })
})

describe('a torn line', () => {
  const piece = `${nextLinePrefix(whole.link)}"time":`
  const tornLine = (...pieces: readonly string[]) => toTornLine(Buffer.from(pieces.join('\n')))
  const behind = (claimed: TornLine | null): string =>
    seal(key, whole.link, headLine(0, 'start', whole.link, key, claimed)).line

  test('at the end is a note, and no fault', () => {
    const { findings, notes } = verified([whole.text + piece])

    expect([findings, places(notes)]).toEqual([[], ['a:6']])
  })

  test.each([
    'an intruder',
    '{"level":30',
    piece.replace('"seq":6', '"seq":7'),
    piece.replace('"audit":"', '"audit":"x'),
  ])('that cannot be the next line is a fault: %s', (junk) => {
    expect(places(verified([whole.text + junk]).findings)).toEqual(['a:6'])
  })

  test('is in order where the next line reports it, and a fault where it does not', async () => {
    const reported = tornLine(piece)

    expect(verified([`${whole.text}${piece}\n${behind(reported)}`]).findings).toEqual([])
    expect(places(verified([`${whole.text}${piece}\n${behind(null)}`]).findings)).toEqual(['a:6'])
    expect(places(verified([`${whole.text}${piece.slice(1)}\n${behind(reported)}`]).findings)).toEqual(['a:6'])
    expect(places(verified([`${whole.text}${behind(reported)}`]).findings)).toEqual(['a:6'])
    expect(verified([`${whole.text}${piece}\n${behind(reported)}`], { mixed: true }).findings).toEqual([])
  })

  test('in each of two files of a chain is in order only where the next line reports both', () => {
    const invented = piece.replace('time', 'invented')
    const first = whole.text + invented

    for (const next of [behind(tornLine(piece)), behind(tornLine(invented)), behind(null)])
      expect(places(verified([first, `${piece}\n${next}`]).findings)).toEqual(['a:6'])
    expect(verified([first, `${piece}\n${behind(tornLine(invented, piece))}`]).findings).toEqual([])
    expect(verified([first, piece, behind(tornLine(invented, piece))]).findings).toEqual([])
  })

  test('in each of two files at the end is a fault', () => {
    expect(places(verified([whole.text + piece, piece]).findings)).toEqual(['a:6'])
  })

  test('in each of two files before the first line of a chain is in order where that reports both', () => {
    const [one, other] = [`${linePrefix}0123`, `${linePrefix}01234`]
    const first = headLine(0, 'start', genesis(), key, tornLine(one, other))

    expect(verified([one, other, seal(key, genesis(), first).line]).findings).toEqual([])
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
  const behind = seal(next, changed.link, '"event":"more"')
  const both = whole.text + changed.line + behind.line

  expect(verified([both], { keys: [key, next] }).findings).toEqual([])
  expect(verified([both]).findings).toMatchObject([{ line: 7, message: sealedWith(next.id) }])
  expect(verified([both], { keys: [next] }).findings).toMatchObject([{ line: 1, message: sealedWith(key.id, next.id) }])
})

test('between other lines, chains are followed side by side', () => {
  const [one, other] = [sample(2), sample(2)]
  const mixed = one.text
    .split('\n')
    .flatMap((line, n) => [line, '{"level":30,"msg":"exchange"}', other.text.split('\n')[n] ?? ''])
    .join('\n')

  expect(verified([mixed], { mixed: true }).findings).toEqual([])
  expect(verified([mixed.replace('"status":200', '"status":201')], { mixed: true }).findings).toHaveLength(1)
})
