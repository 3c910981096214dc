import type { Orders } from '../../carry-out.ts'
import type { Desk } from '../../desk.ts'
import { bad } from '../../orders.ts'
import type { Refusal } from '../../problem.ts'
import type { Shown } from '../html.ts'

/** Is what an action says, by name: what stands in the target of its page, and then in its form. */
export type Said = Readonly<Record<string, string>>

/** Is what a person may have done by the pages. */
export interface Action {
  readonly name: ActionName
  /** What it may say. */
  readonly takes: readonly string[]
  /** Says what would happen, or what speaks against it; does nothing. */
  ask(desk: Desk, said: Said): Promise<Question | Refusal>
  /** Has it done, and says what was. */
  act(orders: Orders, said: Said): Promise<string | Refusal>
}

export type ActionName = 'reload' | 'rollback' | 'drain' | 'ready' | 'refuse' | 'serve' | 'clear-cache'

/** Is what a person is asked before it is done. */
export interface Question {
  /** What will be done: a question of a few words. */
  readonly title: string
  /** What will happen, to what and for how long: paragraphs. */
  readonly what: Shown
  /** For how long, which can be chosen; null: it is not for a time. */
  readonly ttlMs: number | null
  /** What stands on the button. */
  readonly button: string
}

/** Tells where the page of an action is. */
export const hrefOf = (name: ActionName, said: Said = {}): string => {
  const query = new URLSearchParams(said).toString()
  return `/actions/${name}${query === '' ? '' : `?${query}`}`
}

/** Reads what is said to an action: what it takes and nothing else, each once at most. */
export const readSaid = ({ name, takes }: Action, fields: URLSearchParams): Said | Refusal => {
  const keys = [...fields.keys()]
  const wrong = keys.find((key) => !takes.includes(key) || fields.getAll(key).length > 1)
  if (wrong === undefined) return Object.fromEntries(fields)
  const expected = takes.length === 0 ? 'takes nothing' : `takes ${takes.join(', ')}, each once at most`
  return bad(`${JSON.stringify(wrong.slice(0, 60))} is not expected: ${name} ${expected}`)
}
