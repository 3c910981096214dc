import type { RuntimePart } from '../../core/runtime/runtime-part.ts'
import { findCandidateUse } from './shift/candidate-use.ts'

export const describe: RuntimePart['describe'] = () => ({})

export const open: RuntimePart['open'] = () => ({
  findOtherSide({ config, overrides }, group) {
    const { candidate } = config.upstreams[group]
    return candidate && findCandidateUse(candidate, overrides.shifts?.get(group) ?? null) && candidate
  },
  acquire: ({ config, overrides }) => ({
    responseFields({ group }) {
      const { candidate } = config.upstreams[group]
      if (!candidate?.expose || findCandidateUse(candidate, overrides.shifts?.get(group)) === null) return []
      return [{ name: candidate.expose.toLowerCase(), isReplaced: true }]
    },
  }),
})
