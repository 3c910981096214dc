import { endpointUrl } from './address.ts'
import { scalar, Wrong } from './scalar.ts'

/** Reads `{base_url}` as clients write it; a slash at its end is dropped. */
export const publicUrl = (description: string) =>
  scalar<string>(
    {
      expected: 'a URL such as https://gateway.example or https://gateway.example/lender',
      read: (value, whole) => {
        if (value === 'sandbox') return new Wrong('not a URL')
        const read = endpointUrl.read(value, whole)
        if (!(read instanceof Wrong)) return read.origin + read.pathPrefix
        return read.message.includes('password') ? new Wrong(read.message) : read
      },
      json: { type: 'string', pattern: '^[Hh][Tt][Tt][Pp][Ss]?://[^/?#@\\\\\\s]+(/[^?#\\\\\\s]*)?$' },
    },
    description,
  )
