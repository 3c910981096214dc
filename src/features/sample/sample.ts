import type { FilePosition } from '../../core/config/problem.ts'
import type { HeaderFields } from '../../core/exchange/header-fields.ts'
import type { OperationId } from '../../operations.ts'

/** An example of a request, of its response, or of both. */
export interface Sample {
  /** Where it stands in its file. */
  readonly at: FilePosition
  readonly operation: OperationId
  /** Null: it is of a response alone. */
  readonly request: SampleRequest | null
  /** Null: it is of a request alone. */
  readonly response: SampleResponse | null
}

/** The request of a sample, as a client would send it. */
export interface SampleRequest extends SampleMessage {
  /** With its `?`, or empty. */
  readonly query: string
}

/** The response of a sample, as an upstream would send it. */
export interface SampleResponse extends SampleMessage {
  readonly status: number
}

export interface SampleMessage {
  readonly fields: HeaderFields
  readonly body: Buffer
}
