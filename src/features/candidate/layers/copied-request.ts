import { BodyCopy, copyRequestBody } from '../../../core/exchange/bodies/body-copy.ts'
import type { Exchange } from '../../../core/exchange/exchange.ts'
import type { QuotaShare } from '../../../core/lib/fair-quota.ts'
import type { ShadowDropReason } from '../observe/shadow-counts.ts'

interface CopiedRequestListener {
  /** Called each time the request is handed to a connection of the primary. */
  onSent(): void
  /** Called once, when the primary's request is on its way, and its body is here: the copy may go out. */
  onReady(): void
  /** Called at most once, in place of `onReady`: there is no copy to send. */
  onDropped(reason: ShadowDropReason): void
}

export class CopiedRequest {
  #isSent = false
  readonly #exchange: Exchange
  readonly #maxBody: number
  readonly #listener: CopiedRequestListener
  readonly #body: BodyCopy
  #isWhole: boolean
  #isClosed = false

  /** A body of more than `maxBody` bytes is not copied. */
  constructor(exchange: Exchange, maxBody: number, room: QuotaShare, listener: CopiedRequestListener) {
    const { body } = exchange
    this.#exchange = exchange
    this.#maxBody = maxBody
    this.#listener = listener
    this.#body = new BodyCopy(maxBody, room, body.length)
    this.#isWhole = body.length === 0
    exchange.onSent = () => this.#onSent()
    if (!this.#isWhole && !body.replayable && !this.#isTooLong) copyRequestBody(body, this.#body, () => this.#onWhole())
  }

  get isSent(): boolean {
    return this.#isSent
  }

  get isWhole(): boolean {
    return this.#isWhole
  }

  /** Why the body is not complete, although all of it has come. Null: it is. */
  get failure(): BodyCopy['failure'] {
    return this.#body.failure
  }

  get body(): Buffer {
    return this.#body.bytes
  }

  /** Ends the copying, and gives the body's room back. Its memory stays where some of it `isRead` still. */
  close(isRead: boolean): void {
    this.#isClosed = true
    this.#exchange.onSent = null
    if (isRead) this.#body.release()
    else this.#body.close()
  }

  get #isTooLong(): boolean {
    return (this.#exchange.body.length ?? 0) > this.#maxBody
  }

  #onSent(): void {
    this.#listener.onSent()
    if (this.#isSent) return
    this.#isSent = true
    const { body } = this.#exchange
    if (this.#isTooLong) this.#listener.onDropped('body-too-large')
    else if (this.#isWhole) this.#listener.onReady()
    else if (body.replayable)
      body.read().then(
        (chunks) => this.#onRead(chunks),
        () => {
          if (!this.#isClosed) this.#listener.onDropped('body-unfinished')
        },
      )
  }

  /** Takes a body that was read before it was sent. */
  #onRead(chunks: readonly Buffer[]): void {
    if (this.#isClosed) return
    for (const chunk of chunks) this.#body.push(chunk)
    this.#onWhole()
  }

  #onWhole(): void {
    this.#isWhole = true
    if (this.#isSent && !this.#isClosed) this.#listener.onReady()
  }
}
