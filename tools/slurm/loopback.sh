#!/bin/bash
# A Slurm cluster on loopback for tests: one controller and NODES nodes, each a
# daemon in the foreground with its own port, in one folder. Source it, then
# `cluster_missing`, `cluster_up FOLDER NODES` and `cluster_down`.
PATH+=:/usr/sbin
declare -A cluster_pids=()
cluster_folder=""
cluster_nodes=0

# Why there can be none here; nothing if there can.
cluster_missing() {
  local program
  if (( EUID != 0 )); then
    echo "Slurm's daemons need root here"
    return
  fi
  for program in slurmctld slurmd sbatch scontrol munged mungekey; do
    if ! command -v "${program}" > /dev/null; then
      echo "no ${program}: apt-get install slurmctld slurmd slurm-client" \
        "slurm-wlm-basic-plugins munge"
      return
    fi
  done
}

# Writes slurm.conf. The packages' own key, socket and services are not used.
cluster_configure() {
  local port="$1"
  cat > "${cluster_folder}/slurm.conf" << EOF
ClusterName=test
SlurmctldHost=localhost
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=${cluster_folder}/munge/sock,cred_expire=5
SlurmctldPort=${port}
StateSaveLocation=${cluster_folder}/state
SlurmdSpoolDir=${cluster_folder}/spool/%n
SlurmctldPidFile=${cluster_folder}/slurmctld.pid
SlurmdPidFile=${cluster_folder}/slurmd.%n.pid
SlurmctldLogFile=${cluster_folder}/log/slurmctld.log
SlurmdLogFile=${cluster_folder}/log/slurmd.%n.log
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
SlurmdParameters=config_overrides
RequeueExit=75
ReturnToService=2
SlurmdTimeout=30
KillWait=2
MinJobAge=3600
NodeName=n[1-${cluster_nodes}] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[$(( port + 1 ))-$(( port + cluster_nodes ))] CPUs=1 RealMemory=2000
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP
EOF
  export SLURM_CONF="${cluster_folder}/slurm.conf"
}

# Runs a command every 50 ms until it succeeds, for 20 s at most and while the
# daemon lives.
cluster_await() {
  local daemon="$1" i
  shift
  for (( i = 0; i < 400; ++i )); do
    "$@" > /dev/null 2>&1 && return 0
    kill -0 "${cluster_pids[${daemon}]}" 2> /dev/null || return 1
    sleep 0.05
  done
  return 1
}

cluster_all_idle() {
  [[ "$(timeout 2 sinfo -hN -o %t | grep -cx idle)" == "${cluster_nodes}" ]]
}

# FOLDER has a short path: the name of a socket goes into it.
cluster_up() {
  local i log
  cluster_folder="$1"
  cluster_nodes="$2"
  log="${cluster_folder}/log"
  mkdir -p "${cluster_folder}"/{state,spool,log,munge}
  chmod 755 "${cluster_folder}" "${cluster_folder}/munge"
  cluster_configure $(( 20000 + RANDOM % 10000 ))
  mungekey -c -k "${cluster_folder}/munge/key"
  munged -F -S "${cluster_folder}/munge/sock" \
    "--key-file=${cluster_folder}/munge/key" \
    "--pid-file=${cluster_folder}/munge/pid" "--log-file=${log}/munge" \
    "--seed-file=${cluster_folder}/munge/seed" > "${log}/munged.out" 2>&1 &
  cluster_pids[munged]=$!
  cluster_await munged munge -n -S "${cluster_folder}/munge/sock" || return 1
  slurmctld -D -f "${SLURM_CONF}" > "${log}/ctld.out" 2>&1 &
  cluster_pids[ctld]=$!
  cluster_await ctld eval 'timeout 2 scontrol ping | grep -q " UP"' || return 1
  for (( i = 1; i <= cluster_nodes; ++i )); do
    slurmd -D -N "n${i}" -f "${SLURM_CONF}" > "${log}/n${i}.out" 2>&1 &
    cluster_pids["n${i}"]=$!
  done
  cluster_await ctld cluster_all_idle
}

# Cancels what runs, then stops all daemons at once and munged last.
cluster_down() {
  local i munged="${cluster_pids[munged]:-}"
  unset 'cluster_pids[munged]'
  if [[ -n "${cluster_pids[ctld]:-}" ]]; then
    timeout 5 scancel -u root || true
    for (( i = 0; i < 50; ++i )); do
      [[ -z "$(timeout 2 squeue -h)" ]] && break
      sleep 0.1
    done
    kill "${cluster_pids[@]}" 2> /dev/null || true
    wait "${cluster_pids[@]}" || true
  fi
  if [[ -n "${munged}" ]]; then
    kill "${munged}" 2> /dev/null || true
    wait "${munged}" || true
  fi
  cluster_pids=()
}
