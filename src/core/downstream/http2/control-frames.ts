import type { FloodBudget } from './flood-budget.ts'
import { createFrame, flags, frameTypes, readUint31 } from './frame.ts'
import type { FrameSender } from './frame-sender.ts'
import { ConnectionError, errorCodes, protocolError } from './http2-error.ts'
import { readSettings, settingsAck } from './settings.ts'
import type { StreamTable } from './stream-table.ts'

const wrongLength = (frame: string): ConnectionError =>
  new ConnectionError(errorCodes.frameSizeError, `${frame} of a wrong length`)

const windowTooLarge = (): ConnectionError =>
  new ConnectionError(errorCodes.flowControlError, 'a window that is too large')

/** Frames that carry no request (RFC 9113 §6.3 to §6.9). */
export class ControlFrames {
  readonly #sender: FrameSender
  readonly #streams: StreamTable
  readonly #budget: FloodBudget

  constructor(sender: FrameSender, streams: StreamTable, budget: FloodBudget) {
    this.#sender = sender
    this.#streams = streams
    this.#budget = budget
  }

  onFrame(type: number, frameFlags: number, id: number, payload: Buffer, from: number, to: number): void {
    switch (type) {
      case frameTypes.windowUpdate:
        return this.#onWindowUpdate(id, payload, from, to)
      case frameTypes.rstStream:
        return this.#onReset(id, to - from)
      case frameTypes.settings:
        return this.#onSettings(frameFlags, id, payload.subarray(from, to))
      case frameTypes.ping:
        return this.#onPing(frameFlags, id, payload.subarray(from, to))
      case frameTypes.priority:
        return this.#onPriority(id, payload, from, to)
      case frameTypes.goAway:
        if (id !== 0) throw protocolError('GOAWAY on a stream')
        if (to - from < 8) throw wrongLength('GOAWAY')
        return this.#budget.take('ignored')
      case frameTypes.pushPromise:
        throw protocolError('PUSH_PROMISE from a client')
      default:
        // PRIORITY_UPDATE (RFC 9218 §7.1) too: all streams take turns.
        return this.#budget.take('ignored')
    }
  }

  #onWindowUpdate(id: number, payload: Buffer, from: number, to: number): void {
    if (to - from !== 4) throw wrongLength('WINDOW_UPDATE')
    this.#budget.take('windowUpdate')
    const bytes = readUint31(payload, from)
    if (id === 0) {
      if (bytes === 0) throw protocolError('WINDOW_UPDATE of 0')
      if (!this.#sender.openWindow(null, bytes)) throw windowTooLarge()
      return
    }
    if (this.#streams.isIdle(id)) throw protocolError('WINDOW_UPDATE of an idle stream')
    const stream = this.#streams.find(id)
    if (stream === undefined) return
    if (bytes === 0) this.#streams.resetByFault(id, errorCodes.protocolError, 'WINDOW_UPDATE of 0')
    else if (!this.#sender.openWindow(stream, bytes))
      this.#streams.resetByFault(id, errorCodes.flowControlError, 'a window that is too large')
  }

  #onReset(id: number, length: number): void {
    if (length !== 4) throw wrongLength('RST_STREAM')
    if (this.#streams.isIdle(id)) throw protocolError('RST_STREAM of an idle stream')
    this.#budget.take('reset')
    const stream = this.#streams.find(id)
    if (stream !== undefined) this.#streams.close(stream, 'client')
  }

  #onSettings(frameFlags: number, id: number, payload: Buffer): void {
    if (id !== 0) throw protocolError('SETTINGS on a stream')
    if ((frameFlags & flags.ack) !== 0) {
      if (payload.length > 0) throw wrongLength('an acknowledgment')
      return this.#budget.take('ignored')
    }
    const { headerTableSize, smallestTableSize, initialWindowSize } = readSettings(payload)
    this.#budget.take('settings')
    if (smallestTableSize !== undefined) this.#sender.limitTable(smallestTableSize)
    if (headerTableSize !== undefined) this.#sender.limitTable(headerTableSize)
    if (initialWindowSize !== undefined && !this.#sender.setStreamWindow(initialWindowSize, this.#streams.open))
      throw windowTooLarge()
    this.#sender.sendControl(settingsAck)
  }

  #onPing(frameFlags: number, id: number, payload: Buffer): void {
    if (id !== 0) throw protocolError('PING on a stream')
    if (payload.length !== 8) throw wrongLength('PING')
    this.#budget.take('ping')
    if ((frameFlags & flags.ack) === 0) this.#sender.sendControl(createFrame(frameTypes.ping, flags.ack, 0, payload))
  }

  /** RFC 9113 §5.3.2: deprecated, and ignored. */
  #onPriority(id: number, payload: Buffer, from: number, to: number): void {
    if (id === 0) throw protocolError('PRIORITY on stream 0')
    this.#budget.take('priority')
    const isWhole = to - from === 5
    if (isWhole && readUint31(payload, from) !== id) return
    const code = isWhole ? errorCodes.protocolError : errorCodes.frameSizeError
    // RFC 9113 §6.4: an idle stream is not reset.
    if (this.#streams.isIdle(id)) throw new ConnectionError(code, 'a malformed PRIORITY')
    // RFC 9113 §5.1: nothing is sent on a closed stream.
    if (this.#streams.find(id) !== undefined) this.#streams.resetByFault(id, code, 'a malformed PRIORITY')
  }
}
