import type { Status } from './answers.ts'
import { until } from './span.ts'
import type { Row } from './table.ts'

/** Lists the operations that do not serve, or only for now. */
export const operationRows = (operations: Status['operations'], at: number): readonly Row[] => [
  ['operation', 'state'],
  ...Object.entries(operations).map(([id, { state, until: end }]): Row => {
    const said = state === 'refuse' ? 'REFUSED' : state === 'serve' ? 'served' : state
    return [id, end === null ? `${said} by the file` : `${said} by an operator until ${until(end, at)}`]
  }),
]
