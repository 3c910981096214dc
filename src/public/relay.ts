import { now } from '../clock.ts'
import type { Answer, AnswerBody, BodySink } from '../exchange.ts'
import { GatewayError } from '../failures/errors.ts'
import { type Fields, firstValue, isNamed } from '../fields.ts'
import { giveBack } from '../shared/give-back.ts'
import { refuse } from './refuse.ts'
import { awaitTaken, Outflow } from './taken.ts'
import type { Visit } from './visit.ts'

/** Writes an answer to the client: a body that has already arrived in one write, any other as it comes and as the client takes it. */
export const relay = (visit: Visit, answer: Answer, via: string): void => {
  const { response } = visit
  if (response.destroyed) return // and the exchange with it
  const fields = clientFields(visit, answer, via)
  if (!writeHead(visit, answer, fields)) return

  const whole = answer.body.whole()
  if (whole === null) return answer.body.consume(new ClientSink(visit, answer.body))
  // TLS makes a copy of whatever is written, whether the client takes it or not: of what is stored, one for each client that reads slowly.
  if (visit.peer.secure && whole.length > pieceBytes) {
    const pieces = inPieces(whole)
    return pieces.consume(new ClientSink(visit, pieces))
  }
  visit.bytesOut = whole.length
  // As a latin1 string it goes out with the head in one piece; head and buffer as two pieces of one write cost the kernel more.
  if (whole.length <= oneWriteBytes) response.end(whole.toString('latin1'), 'latin1')
  else response.end(whole)
  awaitTaken(visit)
}

// Above this, copying the body costs more than a second piece.
const oneWriteBytes = 8 * 1024

/** Lists the answer's fields: the upstream's end-to-end ones, and those few that docs/operations.md says the gateway adds. */
const clientFields = (visit: Visit, answer: Answer, via: string): Fields => {
  const { snapshot, requestId, head, body, draining, exchange } = visit
  const idField = snapshot.config.requestId.header
  const lowerId = idField?.toLowerCase()
  const fields: string[] = []
  for (let i = 0; i < answer.fields.length; i += 2) {
    const name = answer.fields[i] as string
    if (lowerId !== undefined && isNamed(name, lowerId)) continue
    // RFC 9110 §8.6: never on a 204; Node would send it all the same.
    if (answer.status === 204 && isNamed(name, 'content-length')) continue
    fields.push(name, answer.fields[i + 1] as string)
  }
  fields.push('Via', via)
  if (idField !== null) fields.push(idField, requestId)
  if (exchange !== null && exchange.answerFields !== null) fields.push(...exchange.answerFields)
  if (head.interactionId !== null && firstValue(answer.fields, 'x-fapi-interaction-id') === undefined)
    fields.push('x-fapi-interaction-id', head.interactionId)
  // Where the answer came before the request was complete, what is still on its way is not another request.
  const unread = body?.received === false
  if (unread || draining()) visit.response.last(visit, unread)
  return fields
}

/** Writes the head; false: the upstream sent something that cannot be written, and the client has been told 502. */
const writeHead = (visit: Visit, { status, reason }: Answer, fields: Fields): boolean => {
  try {
    visit.response.writeFields(status, reason, fields)
    visit.firstByteMs = now() - visit.startedAt
    return true
  } catch (cause) {
    const failure = new GatewayError('bad-answer', { reason: 'answer-field', cause })
    refuse(visit, failure)
    visit.abort(failure) // the body has nobody to go to
    return false
  }
}

/** The most that is written at once where whatever is written is copied. */
export const pieceBytes = 64 * 1024

/** Makes a body of one that is all there, handed on in pieces as they are taken. The memory may be others' too. */
export const inPieces = (whole: Buffer): AnswerBody => {
  let rest = whole
  let sink: BodySink | null = null
  const resume = (): void => {
    while (sink !== null && rest.length > 0) {
      const piece = rest.subarray(0, pieceBytes)
      rest = rest.subarray(piece.length)
      if (!sink.data(piece)) return
    }
    sink?.end()
    sink = null
  }
  return {
    lasting: true,
    whole: () => null,
    consume(taker) {
      sink = taker
      resume()
    },
    resume,
    discard() {
      sink = null
    },
  }
}

/** Takes the body as fast as the client does. One that takes nothing for longer than the bound is cut. */
export class ClientSink implements BodySink {
  readonly #visit: Visit
  readonly #body: AnswerBody
  readonly #outflow: Outflow
  /** What has been written and not taken yet, oldest first. */
  readonly #written: Buffer[] = []
  readonly #taken = (error?: Error | null): void => {
    const chunk = this.#written.shift()
    // Of an answer that was cut, a piece may still be on its way out to a connection that goes on: freed, it would go out as something else.
    if (!error) giveBack(chunk)
  }
  #waiting = false

  constructor(visit: Visit, body: AnswerBody) {
    this.#visit = visit
    this.#body = body
    this.#outflow = new Outflow(visit)
    visit.response.on('drain', () => {
      if (!this.#waiting) return
      this.#waiting = false
      this.#outflow.end()
      this.#body.resume()
    })
  }

  data(chunk: Buffer): boolean {
    const { response } = this.#visit
    // Of a large chunk `write` says false before the system has been asked, which nearly always takes all of it. So what counts is
    // whether it has taken the one before.
    const keepsUp = response.writableLength === 0
    this.#visit.bytesOut += chunk.length
    if (this.#write(chunk) || keepsUp) return true
    this.#waiting = true
    this.#outflow.wait()
    return false
  }

  #write(chunk: Buffer): boolean {
    const { response } = this.#visit
    if (this.#body.lasting) return response.write(chunk)
    this.#written.push(chunk)
    return response.write(chunk, this.#taken)
  }

  end(): void {
    this.#visit.response.end()
    this.#outflow.end() // `drain` is not told any more
    awaitTaken(this.#visit)
  }

  fail(error: GatewayError): void {
    this.#visit.cut(error)
  }
}
