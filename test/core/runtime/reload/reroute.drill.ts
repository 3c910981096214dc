/** Clients notice nothing of a reroute, whether the watch or a signal tells the gateway of the edit. */
import { fileSwappedBySymlink, fileWrittenInPlace } from '../../../helpers/editable-file.ts'
import { drillReroutes } from './reroute-drill.ts'

drillReroutes([
  ['made by swapping a symbolic link, as Kubernetes does', fileSwappedBySymlink, 'watch', '{ poll: none }'],
  ['reloaded by SIGHUP', fileWrittenInPlace, 'signal', '{ watch: false }'],
])
