import type { ExplainPart } from '../../core/cli/built-in-command.ts'
import type { Config } from '../../core/config/config.ts'

export const settings: Required<ExplainPart>['settings'] = [
  {
    before: 'requestId',
    rows: ({ auth, clients, clientsSource }, rowsUnder) => [
      ...(auth === null ? [] : rowsUnder('auth')),
      ...(clients.length === 0 ? [] : [['clients', describeClients(clients, clientsSource)] as const]),
    ],
  },
]

const describeClients = (clients: Config['clients'], { parts }: Config['clientsSource']): string => {
  const files = parts.flatMap(({ file, count }) => (file === null ? [] : [`${count} in ${file}`]))
  return files.length === 0 ? String(clients.length) : `${clients.length}: ${files.join(', ')}`
}

export const rejectClient: Required<ExplainPart>['rejectClient'] = (client, { id }, { clients }, nameKey) => {
  const entry = clients.find((each) => each.id === client)
  if (entry === undefined) return null
  if (entry.disabled)
    return {
      why: `the client ${entry.id} is disabled: ${nameKey('clients')}`,
      hint: 'remove its "disabled", or send as another client',
    }
  if (entry.operations === null || entry.operations.includes(id)) return null
  return {
    why: `the client ${entry.id} may call ${entry.operations.join(', ')} alone: ${nameKey('clients')}`,
    hint: `add ${id} to its operations, or send as another client`,
  }
}
