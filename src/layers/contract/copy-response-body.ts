import type { ResponseBody } from '../../body.ts'
import type { BodyCopy } from '../../shared/bodies/body-copy.ts'
import { ObservedResponseBody } from '../../shared/bodies/observed-response-body.ts'

/** Creates the body of a response that is copied while it is sent. `onEnd` is called when all of it was handed on. */
export const copyResponseBody = (body: ResponseBody, copy: BodyCopy, onEnd: () => void): ResponseBody =>
  new ObservedResponseBody(body, {
    onChunk(chunk) {
      if (!copy.push(chunk)) copy.free()
    },
    onWhole(whole) {
      if (!copy.keep(whole)) copy.free()
    },
    onEnd,
    onCut: () => copy.free(),
  })
