import type { StatusText } from '../../core/admin/admin-part.ts'
import { asNullable } from '../../core/lib/text/decode.ts'
import { formatTimeLeft } from '../../core/lib/text/format-time.ts'
import type { ReportText } from '../contract/contract-report.ts'
import { type LearningStatus, learningShape } from './status.ts'

const renderLearning = ({ by, setBy, enums, until }: LearningStatus, at: number): string => {
  const what = `the contract is learned${enums ? ', with enumerations' : ''}`
  const end = until === null ? '' : ` until ${formatTimeLeft(until, at)}`
  return `${what}, ${by === 'file' ? 'as the file says' : `by ${setBy ?? 'an operator'}${end}`}: contract draft prints it`
}

export const texts: readonly StatusText[] = [
  {
    before: 'certificates',
    key: 'learning',
    render: ({ learning }, at) => learning && renderLearning(learning, at),
    ofOperation: ({ learning }) => learning,
  },
]

export const reportText: ReportText<LearningStatus | null> = {
  key: 'learning',
  decode: asNullable(learningShape),
  render: (learning, at) => learning && renderLearning(learning, at),
}
