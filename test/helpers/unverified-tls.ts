import { onTestFinished } from 'vitest'

/** Tells Node to verify no certificate until the test has finished. */
export const switchVerificationOff = (): void => {
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  onTestFinished(() => {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
  })
}
