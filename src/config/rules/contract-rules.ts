import { type ConfigRule, isEnabledAt, valueAt } from './rule.ts'

/** Requires something that a contract can be held to, or drawn up from. */
const fileOrLearning: ConfigRule = (tree) => {
  const learn = valueAt(tree, ['contract', 'learn'])
  return (
    isEnabledAt(tree, ['contract']) &&
    valueAt(tree, ['contract', 'file']) === undefined &&
    (learn === undefined || learn === false || learn === 'false') && {
      path: ['contract'],
      message: 'there is no contract to hold messages to',
      expected: 'a file, or learn: true',
      found: 'neither',
      hint: 'write file: contract.yaml for an OpenAPI document, or learn: true to draw one up from what passes',
    }
  )
}

/** The rules of the contract. */
export const contractRules: readonly ConfigRule[] = [fileOrLearning]
