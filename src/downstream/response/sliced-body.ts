import type { BodySink, ResponseBody } from '../../body.ts'

/** The maximum that is written at once of a body that is in memory. */
export const sliceBytes = 64 * 1024

/** Creates a body of a buffer, handed on in slices as they are taken. Others may share the memory. */
export const sliceBody = (buffered: Buffer): ResponseBody => {
  let rest = buffered
  let sink: BodySink | null = null
  const resume = (): void => {
    while (sink !== null && rest.length > 0) {
      const slice = rest.subarray(0, sliceBytes)
      rest = rest.subarray(slice.length)
      if (!sink.data(slice)) return
    }
    sink?.end()
    sink = null
  }
  return {
    isShared: true,
    takeBuffered: () => null,
    consume(bodySink) {
      sink = bodySink
      resume()
    },
    resume,
    discard() {
      sink = null
    },
  }
}
