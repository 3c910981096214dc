/**
 * Runs the gateway's parser and llhttp over mutated requests, and counts in what they differ:
 * `node tools/lab/fuzz-requests.ts [COUNT] [FIRST]`; 1,000,000 from 0 on take some minutes. Ends with 1 when a
 * difference is none of those that are known (test/core/downstream/http1/fuzz/differences.ts).
 */
import { judge } from '../../test/core/downstream/http1/fuzz/judge.ts'
import { fuzz } from './fuzz.ts'

fuzz(judge)
