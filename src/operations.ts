/** The whole public surface, compiled in and never reloaded. Configuration says only what stands behind it. */

interface OperationRow {
  readonly id: `${string}.${string}`
  readonly method: 'GET' | 'POST'
  readonly path: `/${string}/${string}`
  readonly group: string
}

type NineOperations = readonly [
  OperationRow,
  OperationRow,
  OperationRow,
  OperationRow,
  OperationRow,
  OperationRow,
  OperationRow,
  OperationRow,
  OperationRow,
]

/** In the interface's order. A tenth row does not compile. */
export const allOperations = [
  { id: 'valuation.score', method: 'POST', path: '/valuation/score', group: 'valuation' },
  { id: 'financing.pre-approval', method: 'POST', path: '/financing/pre-approval', group: 'financing' },
  { id: 'analysis.esg-grant', method: 'GET', path: '/analysis/esg-grant', group: 'analysis' },
  { id: 'risk.asset-valuation', method: 'POST', path: '/risk/asset-valuation', group: 'risk' },
  { id: 'valuation.forecast', method: 'POST', path: '/valuation/forecast', group: 'valuation' },
  { id: 'inventory.sync', method: 'POST', path: '/inventory/sync', group: 'inventory' },
  { id: 'leads.pipeline', method: 'GET', path: '/leads/pipeline', group: 'leads' },
  { id: 'compliance.audit-trail', method: 'GET', path: '/compliance/audit-trail', group: 'compliance' },
  { id: 'market.insights', method: 'GET', path: '/market/insights', group: 'market' },
] as const satisfies NineOperations

export type Operation = (typeof allOperations)[number]
/** `market.insights`, for example. */
export type OperationId = Operation['id']
/** The unit that configuration routes. */
export type Group = Operation['group']

/** The eight purpose groups, each once, in the interface's order. */
export const groups: readonly Group[] = [...new Set(allOperations.map((operation) => operation.group))]

/** `primary` serves a group, `candidate` is tried. */
export const sides = ['primary', 'candidate'] as const
export type Side = (typeof sides)[number]

export const byGroup = <T>(make: (group: Group) => T): Record<Group, T> =>
  // Object.fromEntries loses the type of its keys; the list of groups is all of them.
  Object.fromEntries(groups.map((group) => [group, make(group)])) as Record<Group, T>

export const byOperation = <T>(make: (operation: Operation) => T): Record<OperationId, T> =>
  Object.fromEntries(allOperations.map((operation) => [operation.id, make(operation)])) as Record<OperationId, T>

export const operationsById: Readonly<Record<OperationId, Operation>> = byOperation((operation) => operation)
