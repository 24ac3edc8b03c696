#!/bin/bash
# faults.sh on Open vSwitch, whose daemons are killed too.
# time-limit: 600
FABRIC=ovs exec bash "$(dirname "$0")/faults.sh"
