import type { RequestBody } from '../../body.ts'
import type { BodyCopy } from './body-copy.ts'

/** Copies the body of a request while it is read. `onEnd` is called when all of it has come. */
export const copyRequestBody = (body: RequestBody, copy: BodyCopy, onEnd: () => void): void => {
  const { onData } = body
  body.onData = (chunk) => {
    onData?.(chunk)
    if (chunk === null) onEnd()
    else if (!copy.push(chunk)) copy.free()
  }
}
