#!/usr/bin/env node
// What units and scripts of earlier versions start.
import './lender-gateway.js'
