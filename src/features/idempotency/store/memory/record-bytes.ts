/** Times are monotonic. */
export interface SettledRecord {
  readonly name: string
  readonly client: string
  readonly share: string
  readonly requestId: string
  readonly fingerprint: string | null
  readonly state: 'unknown' | 'done'
  readonly claimedAt: number
  readonly since: number // the TTL begins then
  readonly ttlMs: number
}

/** Offsets: numbers, then texts of one byte a character. `responsePlace` 0: no response. */
export const at = {
  state: 0,
  hasFingerprint: 1,
  nameLength: 4,
  clientLength: 8,
  requestIdLength: 12,
  fingerprintLength: 16,
  shareLength: 20,
  claimedAt: 24,
  since: 32,
  ttlMs: 40,
  responsePlace: 48,
  texts: 56,
} as const

const [done, unknown] = [1, 2]

export const recordLength = (record: SettledRecord): number => {
  const { name, client, requestId, fingerprint } = record
  const ofDigests = name.length + client.length + (fingerprint?.length ?? 0) + ownShare(record).length
  return at.texts + ofDigests + requestId.length
}

/** Empty when it equals the client. */
const ownShare = ({ client, share }: SettledRecord): string => (share === client ? '' : share)

/** Texts must be Latin-1. `responsePlace` 0: no response. */
export const writeRecord = (memory: Buffer, from: number, record: SettledRecord, responsePlace: number): void => {
  const { name, client, requestId, fingerprint, state, claimedAt, since, ttlMs } = record
  memory[from + at.state] = state === 'done' ? done : unknown
  memory[from + at.hasFingerprint] = fingerprint === null ? 0 : 1
  memory.writeDoubleLE(claimedAt, from + at.claimedAt)
  memory.writeDoubleLE(since, from + at.since)
  memory.writeDoubleLE(ttlMs, from + at.ttlMs)
  memory.writeDoubleLE(responsePlace, from + at.responsePlace)
  let end = from + at.texts
  end = writeText(memory, from + at.nameLength, name, end)
  end = writeText(memory, from + at.clientLength, client, end)
  end = writeText(memory, from + at.requestIdLength, requestId, end)
  end = writeText(memory, from + at.fingerprintLength, fingerprint ?? '', end)
  writeText(memory, from + at.shareLength, ownShare(record), end)
}

const writeText = (memory: Buffer, lengthAt: number, text: string, textAt: number): number => {
  memory.writeUInt32LE(text.length, lengthAt)
  return textAt + memory.write(text, textAt, 'latin1')
}

export const readRecord = (memory: Buffer, from: number): SettledRecord => {
  const nameEnd = from + at.texts + memory.readUInt32LE(from + at.nameLength)
  const clientEnd = nameEnd + memory.readUInt32LE(from + at.clientLength)
  const requestIdEnd = clientEnd + memory.readUInt32LE(from + at.requestIdLength)
  const fingerprintEnd = requestIdEnd + memory.readUInt32LE(from + at.fingerprintLength)
  const shareEnd = fingerprintEnd + memory.readUInt32LE(from + at.shareLength)
  const client = memory.toString('latin1', nameEnd, clientEnd)
  return {
    name: memory.toString('latin1', from + at.texts, nameEnd),
    client,
    share: shareEnd === fingerprintEnd ? client : memory.toString('latin1', fingerprintEnd, shareEnd),
    requestId: memory.toString('latin1', clientEnd, requestIdEnd),
    fingerprint:
      memory[from + at.hasFingerprint] === 0 ? null : memory.toString('latin1', requestIdEnd, fingerprintEnd),
    state: isUnknown(memory, from) ? 'unknown' : 'done',
    claimedAt: memory.readDoubleLE(from + at.claimedAt),
    since: memory.readDoubleLE(from + at.since),
    ttlMs: memory.readDoubleLE(from + at.ttlMs),
  }
}

export const isUnknown = (memory: Buffer, from: number): boolean => memory[from + at.state] === unknown

export const hasName = (memory: Buffer, from: number, name: string): boolean => {
  if (memory.readUInt32LE(from + at.nameLength) !== name.length) return false
  for (let i = 0; i < name.length; i++) if (memory[from + at.texts + i] !== name.charCodeAt(i)) return false
  return true
}
