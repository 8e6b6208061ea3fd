// Command kube is everything that a Kubernetes cluster consists of, without machines, in one file: the store, the
// control plane, and KWOK in place of kubelets. One file, because the parts share most of their code.
//
//	kube etcd|apiserver|controller-manager|scheduler|kwok FLAGS
//	kube stages    prints how KWOK lets nodes and pods live: its own fast stages
//
// Every part ends when the process that started it is gone, however that went: nothing is left running.
package main

import (
	"fmt"
	"os"
	"strings"
	"time"
	_ "time/tzdata" // time zones in CronJobs

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	nodestages "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	leasestages "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
	podstages "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"
)

func main() {
	if len(os.Args) < 2 {
		usage()
	}
	part := os.Args[1]
	// Every part reads os.Args itself.
	os.Args = append([]string{part}, os.Args[2:]...)
	go endWithParent(os.Getppid())
	switch part {
	case "etcd":
		etcdmain.Main(os.Args)
	case "apiserver":
		run(apiserver.NewAPIServerCommand())
	case "controller-manager":
		run(manager.NewControllerManagerCommand())
	case "scheduler":
		run(scheduler.NewSchedulerCommand())
	case "kwok":
		runKwok()
	case "stages":
		fmt.Println(strings.Join([]string{
			nodestages.DefaultNodeInit,
			leasestages.DefaultNodeHeartbeatWithLease,
			podstages.DefaultPodReady,
			podstages.DefaultPodComplete,
			podstages.DefaultPodDelete,
		}, "\n---\n"))
	default:
		usage()
	}
}

func endWithParent(parent int) {
	for os.Getppid() == parent {
		time.Sleep(200 * time.Millisecond)
	}
	os.Exit(1)
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: kube etcd|apiserver|controller-manager|scheduler|kwok FLAGS, or kube stages")
	os.Exit(2)
}

func run(command *cobra.Command) {
	os.Exit(cli.Run(command))
}

// runKwok reads the configuration before it parses flags, as KWOK's own main does.
func runKwok() {
	// The other parts put a --version of their own there, which KWOK's command would take for its own.
	pflag.CommandLine = pflag.NewFlagSet("kwok", pflag.ContinueOnError)
	flags := pflag.NewFlagSet("global", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	context, _ := log.InitFlags(signals.SetupSignalContext(), flags)
	context, err := config.InitFlags(context, flags)
	if err == nil {
		command := kwok.NewCommand(context)
		command.PersistentFlags().AddFlagSet(flags)
		err = command.ExecuteContext(context)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
