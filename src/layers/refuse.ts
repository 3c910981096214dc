import { GatewayError } from '../errors.ts'
import type { Handle } from '../exchange.ts'

const retryAfterSeconds = 60

/** Answers every exchange of an operation that the operator has taken out of service (`state: refuse`). */
export const refuse: Handle = () =>
  Promise.reject(new GatewayError('refused-by-operator', { fields: ['Retry-After', String(retryAfterSeconds)] }))
