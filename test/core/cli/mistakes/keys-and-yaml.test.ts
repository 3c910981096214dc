// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these
/** Mistakes of operators in keys and in YAML: each message names the line, the key and the remedy. */
import { describe, expect, test } from 'vitest'
import { type Mistake, operations, risk, tryMistakes, upstreams, withTopLines } from './mistakes.ts'

const keys: Readonly<Record<string, Mistake>> = {
  'a wrong group name': {
    text: upstreams().replace('  leads:', '  lead:').concat('  leads: sandbox\n'),
    line: 7,
    key: 'upstreams.lead',
    message: 'unknown key',
    remedy: 'did you mean "leads"?',
  },
  'a group left out': {
    text: `version: 1\n${upstreams().replace('  leads: sandbox\n', '')}`,
    line: 2,
    key: 'upstreams.leads',
    message: 'missing',
    remedy: 'add this key',
  },
  'an unknown key at the top': {
    text: withTopLines('backends:', '  risk: http://risk'),
    line: 1,
    key: 'backends',
    message: 'unknown key',
    remedy: 'remove it, or indent it under the key that it belongs to',
  },
  'a misspelt key': {
    text: withTopLines('listen:', '  basepath: /lender'),
    line: 2,
    key: 'listen.basepath',
    message: 'unknown key',
    remedy: 'did you mean "basePath"?',
  },
  'a key twice': {
    text: withTopLines('listen:', '  port: 8080', '  port: 8081'),
    line: 3,
    key: 'listen.port',
    message: 'a key that stands here already',
    remedy: 'keep one of the two',
  },
  'an unknown operation': {
    text: operations('  market.insight:', '    deadline: 10s'),
    line: 11,
    key: 'operations.market.insight',
    message: 'unknown key',
    remedy: 'did you mean "market.insights"?',
  },
  'a path for an operation': {
    text: operations('  /market/insights:', '    deadline: 10s'),
    line: 11,
    key: 'operations."/market/insights"',
    message: 'unknown key',
    remedy: 'did you mean "market.insights"?',
  },
  'timeouts under an operation': {
    text: operations('  market.insights:', '    timeouts: { headers: 5s }'),
    line: 12,
    key: 'operations.market.insights.timeouts',
    message: 'unknown key',
    remedy: 'one of state, deadline',
  },
  'a group without a value': {
    text: upstreams(''),
    line: 5,
    key: 'upstreams.risk',
    message: 'no value',
    remedy: 'a URL such as http://risk.internal:8080, or sandbox',
  },
}

const yaml: Readonly<Record<string, Mistake>> = {
  'a tab': {
    text: 'version: 1\nupstreams:\n\tvaluation: sandbox\n',
    line: 3,
    key: 'upstreams',
    message: 'a tab in the indentation',
    remedy: 'indent with spaces',
  },
  'a line that is indented too far': {
    text: withTopLines('listen:', '  host: 127.0.0.1', '    port: 8080'),
    line: 2,
    key: 'listen.host',
    message: 'a line that is indented too far',
    remedy: 'indent what follows this line like the line itself',
  },
  'a line that is indented too little': {
    text: withTopLines('listen:', '  host: 127.0.0.1', ' port: 8080'),
    line: 3,
    key: '',
    message: 'wrong indentation',
    remedy: 'indent the lines of one block alike',
  },
  'a colon left out': {
    text: upstreams().replace('risk: ', 'risk '),
    line: 5,
    key: 'upstreams',
    message: 'a key over several lines',
    remedy: 'check for a missing colon on the line',
  },
  'a colon left out of the only line': {
    text: withTopLines('listen:', '  port 8080'),
    line: 2,
    key: 'listen',
    message: 'the wrong kind of value',
    remedy: 'a map',
  },
  'a list for a map': {
    text: operations('  - market.insights'),
    line: 10,
    key: 'operations',
    message: 'the wrong kind of value',
    remedy: 'a map',
  },
  'a value for a list': {
    text: risk('endpoints: http://risk'),
    line: 6,
    key: 'upstreams.risk.endpoints',
    message: 'the wrong kind of value',
    remedy: 'a list',
  },
  'a quote that is not closed': {
    text: withTopLines('listen:', '  host: "127.0.0.1', '  port: 8080'),
    line: 2,
    key: 'listen.host',
    message: 'a quote that is not closed',
    remedy: 'close it on the same line',
  },
  'a bracket that is not closed': {
    text: withTopLines('listen:', '  trustedProxies: [10.0.0.0/8', '  port: 8080'),
    line: 2,
    key: 'listen.trustedProxies',
    message: 'a bracket that is not closed',
    remedy: 'close it, and indent the lines up to its end further than its key',
  },
  'a backslash in double quotes': {
    text: risk('endpoints: [http://risk]', 'request:', '  set:', '    X-Path: "C:\\data"'),
    line: 9,
    key: 'upstreams.risk.request.set.X-Path',
    message: 'an unknown escape in double quotes',
    remedy: 'use single quotes',
  },
  'an unquoted placeholder in brackets': {
    text: risk('endpoints: [${RISK_URL}]'),
    line: 6,
    key: 'upstreams.risk.endpoints[0]',
    message: 'a placeholder in { } or [ ] without quotes',
    remedy: 'use a list with dashes',
  },
  'a placeholder of another kind': {
    text: upstreams(' %RISK_URL%'),
    line: 5,
    key: 'upstreams.risk',
    message: 'a value that begins with a reserved character',
    remedy: 'put the value in quotes',
  },
  'every interface as a bare star': {
    text: withTopLines('listen:', '  host: *'),
    line: 2,
    key: 'listen.host',
    message: 'an alias without an anchor',
    remedy: 'put the value in quotes',
  },
  'a tag': {
    text: upstreams(' !env RISK_URL'),
    line: 5,
    key: 'upstreams.risk',
    message: 'a tag',
    remedy: 'remove the word with !',
  },
  'more than a hundred aliases': {
    text: withTopLines('listen:', '  trustedProxies:', '    - &one 10.0.0.1', ...Array<string>(101).fill('    - *one')),
    line: 104,
    key: '',
    message: 'too many aliases',
    remedy: 'write the values out',
  },
  'two documents': {
    text: `${upstreams()}---\n${upstreams()}`,
    line: 10,
    key: '',
    message: 'a second document',
    remedy: 'remove --- and what follows it',
  },
  'an empty file': {
    text: '',
    line: 1,
    key: '',
    message: 'the file is empty',
    remedy: 'a map with the key upstreams',
  },
  'a file that is not UTF-8': {
    text: Buffer.from(`version: 1\n# r\xe9sum\xe9\n${upstreams()}`, 'latin1'),
    line: 2,
    key: '',
    message: 'the file is not UTF-8',
    remedy: 'save it as UTF-8',
  },
}

describe('a key in the wrong place, or misspelt', () => tryMistakes(keys))

describe('a mistake of YAML', () => tryMistakes(yaml))

test('at least 20 mistakes are tried', () => {
  expect(Object.keys({ ...keys, ...yaml }).length).toBeGreaterThanOrEqual(20)
})
