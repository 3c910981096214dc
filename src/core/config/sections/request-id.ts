import { optionalFieldName } from '../schema/header-fields.ts'
import { choice, map } from '../schema/scalar-types.ts'

export const requestIdSchema = map('The id that every response and every log line carries', {
  header: optionalFieldName('The field that carries the request id, or none', 'X-Request-Id').prefault('X-Request-Id'),
  format: choice('The form of ids that the gateway makes: 32 hex digits, or a UUID (RFC 9562)', [
    'hex',
    'uuid',
  ]).prefault('hex'),
})
