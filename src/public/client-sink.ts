import type { AnswerBody, BodySink } from '../exchange.ts'
import type { GatewayError } from '../failures/errors.ts'
import { giveBack } from '../shared/give-back.ts'
import { awaitTaken, Outflow } from './taken.ts'
import type { Visit } from './visit.ts'

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
