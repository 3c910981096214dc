/** That nobody notices a reroute where nothing that the watch sees, or a command, tells the gateway of the edit. */
import { inPlace, mounted } from '../helpers/ways.ts'
import { nobodyNotices } from './drill.ts'

nobodyNotices([
  ['made outside a bind mount of the file', mounted, 'watch', '{ poll: 100ms }'],
  ['told by SIGHUP', inPlace, 'signal', '{ watch: false }'],
  ['told by POST /reload', inPlace, 'request', '{ watch: false }'],
])
