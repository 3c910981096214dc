import { type ByteLog, createByteLog, createLogMemory, positionOf } from './byte-log.ts'
import { createNameIndex } from './name-index.ts'

/** Times are monotonic. */
interface SettledRecord {
  readonly name: string
  readonly client: string
  readonly share: string
  readonly requestId: string
  readonly fingerprint: string | null
  readonly state: 'unknown' | 'done'
  readonly claimedAt: number
  readonly since: number // the TTL starts then
  readonly ttlMs: number
}

/** Records of one TTL: the first settled expires first. */
interface Generation {
  readonly ttlMs: number
  readonly records: ByteLog
  readonly responses: ByteLog
  unknown: number
  /** Place of the oldest unknown outcome; meaningless while `unknown` is 0. */
  oldestUnknown: number
}

// Place of the response's record.
const responseHeaderBytes = 8

/** 100,000 objects would keep the garbage collector busy. A place is valid until the next addition or removal. */
export class SettledRecords {
  readonly #memory = createLogMemory()
  readonly #generations = new Map<number, Generation>()
  readonly #index = createNameIndex((place, name) => hasName(this.#memory.memoryOf(place), positionOf(place), name))
  readonly #onRemoved: (record: SettledRecord) => void
  #nothingExpiresBefore = Number.POSITIVE_INFINITY
  /** Of responses. */
  bytes = 0
  dropped = 0

  constructor(onRemoved: (record: SettledRecord) => void) {
    this.#onRemoved = onRemoved
  }

  get size(): number {
    return this.#index.size
  }

  get unknown(): number {
    return [...this.#generations.values()].reduce((sum, { unknown }) => sum + unknown, 0)
  }

  oldestUnknownSince(): number | null {
    const unknown = [...this.#generations.values()].filter((generation) => generation.unknown > 0)
    if (unknown.length === 0) return null
    return Math.min(...unknown.map(({ oldestUnknown }) => this.#sinceOf(oldestUnknown)))
  }

  find(name: string, time: number): number | null {
    const place = this.#index.find(name)
    if (place === null) return null
    if (this.#sinceOf(place) + this.#memory.readNumber(place, at.ttlMs) > time) return place
    this.remove(place)
    return null
  }

  read(place: number): SettledRecord {
    return readRecord(this.#memory.memoryOf(place), positionOf(place))
  }

  copyResponse(place: number): Buffer | null {
    const responsePlace = this.#responsePlaceOf(place)
    if (responsePlace === 0) return null
    const from = positionOf(responsePlace)
    const bytes = this.#memory.memoryOf(responsePlace)
    return Buffer.from(bytes.subarray(from + responseHeaderBytes, from + this.#memory.lengthOf(responsePlace)))
  }

  responseLength(place: number): number | null {
    const responsePlace = this.#responsePlaceOf(place)
    return responsePlace === 0 ? null : this.#memory.lengthOf(responsePlace) - responseHeaderBytes
  }

  /** For a name without a record. Beyond `maxBytes`, expired records go first, then the oldest responses. */
  add(record: SettledRecord, response: Buffer | null, maxBytes: number): void {
    const generation = this.#generationOf(record.ttlMs)
    const place = generation.records.add(recordLength(record))
    const responsePlace = response === null ? 0 : this.#addResponse(generation, response, place)
    writeRecord(this.#memory.memoryOf(place), positionOf(place), record, responsePlace)
    this.#index.add(record.name, place)
    this.#nothingExpiresBefore = Math.min(this.#nothingExpiresBefore, record.since + record.ttlMs)
    if (record.state === 'unknown' && generation.unknown++ === 0) generation.oldestUnknown = place
    if (this.bytes > maxBytes) this.removeExpired(record.since)
    while (this.bytes > maxBytes) this.#dropOldestResponse()
  }

  remove(place: number): void {
    const record = this.read(place)
    const { name, ttlMs, state } = record
    const generation = this.#generationOf(ttlMs)
    const responsePlace = this.#responsePlaceOf(place)
    if (responsePlace !== 0) this.#removeResponse(generation, responsePlace)
    this.#index.delete(name)
    if (state === 'unknown' && --generation.unknown > 0 && generation.oldestUnknown === place)
      generation.oldestUnknown = this.#nextUnknown(generation, place)
    generation.records.remove(place)
    this.#onRemoved(record)
  }

  removeExpired(time: number): void {
    if (time < this.#nothingExpiresBefore) return
    this.#nothingExpiresBefore = Number.POSITIVE_INFINITY
    for (const { ttlMs, records, responses } of this.#generations.values()) {
      let first = records.first()
      for (; first !== null && this.#sinceOf(first) + ttlMs <= time; first = records.first()) this.remove(first)
      if (first === null) {
        records.close()
        responses.close()
        this.#generations.delete(ttlMs)
      } else this.#nothingExpiresBefore = Math.min(this.#nothingExpiresBefore, this.#sinceOf(first) + ttlMs)
    }
  }

  #sinceOf(place: number): number {
    return this.#memory.readNumber(place, at.since)
  }

  #responsePlaceOf(place: number): number {
    return this.#memory.readNumber(place, at.responsePlace)
  }

  #nextUnknown({ records }: Generation, place: number): number {
    let next = records.next(place)
    while (next !== null && !isUnknown(this.#memory.memoryOf(next), positionOf(next))) next = records.next(next)
    return next ?? place
  }

  #addResponse({ responses }: Generation, response: Buffer, recordPlace: number): number {
    const place = responses.add(responseHeaderBytes + response.length)
    this.#memory.writeNumber(place, 0, recordPlace)
    response.copy(this.#memory.memoryOf(place), positionOf(place) + responseHeaderBytes)
    this.bytes += response.length
    return place
  }

  #removeResponse({ responses }: Generation, place: number): void {
    this.bytes -= this.#memory.lengthOf(place) - responseHeaderBytes
    responses.remove(place)
  }

  #dropOldestResponse(): void {
    let oldest = { generation: null as Generation | null, place: 0, record: 0, since: Number.POSITIVE_INFINITY }
    for (const generation of this.#generations.values()) {
      const place = generation.responses.first()
      if (place === null) continue
      const record = this.#memory.readNumber(place, 0)
      const since = this.#sinceOf(record)
      if (since < oldest.since) oldest = { generation, place, record, since }
    }
    const { generation, place, record } = oldest
    if (generation === null) return
    this.#removeResponse(generation, place)
    this.#memory.writeNumber(record, at.responsePlace, 0)
    this.dropped++
  }

  #generationOf(ttlMs: number): Generation {
    const known = this.#generations.get(ttlMs)
    if (known !== undefined) return known
    const records = createByteLog(this.#memory, (from, to) => this.#onRecordMoved(generation, from, to))
    const responses = createByteLog(this.#memory, (_, to) => this.#onResponseMoved(to))
    const generation: Generation = { ttlMs, records, responses, unknown: 0, oldestUnknown: 0 }
    this.#generations.set(ttlMs, generation)
    return generation
  }

  #onRecordMoved(generation: Generation, from: number, to: number): void {
    this.#index.move(this.read(to).name, from, to)
    const response = this.#responsePlaceOf(to)
    if (response !== 0) this.#memory.writeNumber(response, 0, to)
    if (generation.oldestUnknown === from) generation.oldestUnknown = to
  }

  #onResponseMoved(to: number): void {
    this.#memory.writeNumber(this.#memory.readNumber(to, 0), at.responsePlace, to)
  }
}

/** Offsets: numbers, then texts of one byte a character. `responsePlace` 0: no response. */
const at = {
  state: 0,
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

const recordLength = (record: SettledRecord): number => {
  const { name, client, requestId, fingerprint } = record
  const ofDigests = name.length + client.length + (fingerprint?.length ?? 0) + ownShare(record).length
  return at.texts + ofDigests + requestId.length
}

const ownShare = ({ client, share }: SettledRecord): string => (share === client ? '' : share)

/** Texts must be Latin-1. */
const writeRecord = (memory: Buffer, from: number, record: SettledRecord, responsePlace: number): void => {
  const { name, client, requestId, fingerprint, state, claimedAt, since, ttlMs } = record
  memory[from + at.state] = state === 'done' ? done : unknown
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

const readRecord = (memory: Buffer, from: number): SettledRecord => {
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
    fingerprint: requestIdEnd === fingerprintEnd ? null : memory.toString('latin1', requestIdEnd, fingerprintEnd),
    state: isUnknown(memory, from) ? 'unknown' : 'done',
    claimedAt: memory.readDoubleLE(from + at.claimedAt),
    since: memory.readDoubleLE(from + at.since),
    ttlMs: memory.readDoubleLE(from + at.ttlMs),
  }
}

const isUnknown = (memory: Buffer, from: number): boolean => memory[from + at.state] === unknown

const hasName = (memory: Buffer, from: number, name: string): boolean => {
  if (memory.readUInt32LE(from + at.nameLength) !== name.length) return false
  for (let i = 0; i < name.length; i++) if (memory[from + at.texts + i] !== name.charCodeAt(i)) return false
  return true
}
